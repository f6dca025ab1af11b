package forebay

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// full has every key, with values that an engine of the test's parameters can run with.
func full(t *testing.T) Config {
	ten, percent := 10*time.Second, 0
	config := testConfig(t)
	config.Threads, config.SynthesisWorkers = 2, 1
	config.Backend, config.Kernels = "cpu", "portable"
	config.Kinds, config.KeepResults = Kinds(), 10
	config.MemoryLimit, config.MemoryMargin, config.MemoryPressure = 2<<30, 16<<20, &percent
	config.Pinned, config.MinIdle, config.Patience = []string{"wpost-2k"}, &ten, &ten
	config.MaxRequests, config.MaxRequestBytes = 10, 1<<28
	config.JournalFile, config.JournalMaxProofs = t.TempDir()+"/a \"journal\" of\tproofs", 100
	config.Timeouts = map[Kind]time.Duration{}
	for _, kind := range Kinds() {
		config.Timeouts[kind] = time.Minute
	}
	return config
}

// keys are those of a TOML text, with their sections.
func keys(text string) []string {
	var found []string
	section := ""
	key := regexp.MustCompile(`^([a-z_0-9]+) = `)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			section = strings.TrimSuffix(name, "]") + "."
		} else if match := key.FindStringSubmatch(line); match != nil {
			found = append(found, section+match[1])
		}
	}
	slices.Sort(found)
	return found
}

func TestConfigHasEveryKeyOfTheEngine(t *testing.T) {
	source, err := os.ReadFile("../src/engine/config.rs")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "const EXAMPLE: &str = r#\"")
	example, _, found := strings.Cut(rest, "\"#;")
	if !found {
		t.Fatal("the engine's example is not where it was")
	}
	if want, have := keys(example), keys(full(t).TOML()); !slices.Equal(want, have) {
		t.Errorf("the engine has %v, Config has %v", want, have)
	}
}

func TestTheEngineTakesEveryKey(t *testing.T) {
	library := openLibrary(t, full(t))
	status, err := library.Status(withTime(t, time.Minute))
	if err != nil || status.Kernels != "portable" || status.Memory.Limit >= 2<<30 {
		t.Fatal(status, err)
	}
}

func TestConfigWritesWhatIsSet(t *testing.T) {
	if text := (Config{}).TOML(); text != "" {
		t.Errorf("an empty configuration: %q", text)
	}
	half := time.Second / 2
	config := Config{Threads: 3, MemoryLimit: 1 << 33, MinIdle: &half, CacheDirectory: "/a\"b\\c\nd\x7f",
		Raw: "keep_results = 7\n[serve]\norphan_seconds = 1"}
	want := "threads = 3\nkeep_results = 7\n[serve]\norphan_seconds = 1\n[memory]\nlimit = \"8589934592\"\n" +
		"[residency]\nmin_idle = 1\n[cache]\ndirectory = \"/a\\\"b\\\\c\\u000Ad\\u007F\"\n"
	if text := config.TOML(); text != want {
		t.Errorf("%s\nexpected\n%s", text, want)
	}
}

func TestWhatNoConfigurationMayHave(t *testing.T) {
	for name, config := range map[string]Config{
		"not UTF-8":    {CacheDirectory: "/\xff"},
		"unknown kind": {Timeouts: map[Kind]time.Duration{"porep": time.Second}},
		"unknown key":  {Raw: "thread = 2"},
		"bad value":    {Backend: "abacus"},
		"bad TOML":     {Raw: "= = ="},
	} {
		if _, err := Open(libraryPath(t), config); !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheHeaderIsTheLibrarys(t *testing.T) {
	theirs, err := os.ReadFile("../include/forebay.h")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("internal/native/forebay.h")
	if err != nil || !bytes.Equal(ours, theirs) {
		t.Error("internal/native/forebay.h is stale; cp include/forebay.h go/internal/native/", err)
	}
}

func TestGeneratedMessagesAreCurrent(t *testing.T) {
	for source, record := range map[string]string{
		"../proto/cuzk/v1/proving.proto":   "cuzkpb/source.sha256",
		"../proto/forebay/v1/engine.proto": "forebaypb/source.sha256",
	} {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.Sum256(text)
		made, err := os.ReadFile(record)
		if err != nil || strings.TrimSpace(string(made)) != hex.EncodeToString(hash[:]) {
			t.Errorf("%s has changed; run go/generate.sh (%v)", source, err)
		}
	}
}
