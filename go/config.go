package forebay

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Config is the engine's configuration, the keys of its TOML file as Go fields. A zero field is left out and has the
// engine's default, so the zero Config is all defaults; the exceptions are pointers, whose zero means something.
// Sizes are in bytes, times in whole seconds: a part of a second counts as one.
type Config struct {
	// Threads is what heavy work runs on at once (threads). Default: the processors.
	Threads int
	// SynthesisWorkers are partitions synthesised at once (synthesis_workers). Default: a quarter of the processors.
	SynthesisWorkers int
	// Backend is "cpu", "gpu" or "auto" (backend).
	Backend string
	// Kernels of the processor's core: "auto", "ifma", "avx2" or "portable" (kernels).
	Kernels string
	// Kinds are the proof kinds that are accepted (kinds). Default: all four.
	Kinds []Kind
	// KeepResults is how many finished jobs' results are kept (keep_results). Default: 1024.
	KeepResults int
	// AllowDevelopmentParameters accepts parameters of an insecure local setup (allow_development_parameters). Never
	// on a real network: such proofs can be forged.
	AllowDevelopmentParameters bool

	// MemoryLimit is the bytes that the engine may hold (memory.limit). Default: what the machine or its control group
	// leaves.
	MemoryLimit uint64
	// MemoryMargin is the part of the limit kept back for what is not in large buffers (memory.margin). Default: 32 MiB.
	MemoryMargin uint64
	// MemoryPressure is the percentage of time that something waited for memory, above which sealing is slowed
	// (memory.pressure). Nil: 20. 0: never.
	MemoryPressure *int

	// Pinned circuits are loaded at open and never leave to make room, such as "winning-32g" (residency.pinned).
	Pinned []string
	// MinIdle is how long a circuit that nobody uses is kept (residency.min_idle). Nil: 10 s.
	MinIdle *time.Duration
	// Patience is how long others may pass a request that waits for memory (schedule.patience). Nil: 60 s.
	Patience *time.Duration

	// MaxRequests is the unfinished requests of one kind; the next is ErrBusy (intake.max_requests). Default: 256.
	MaxRequests int
	// MaxRequestBytes is what unfinished decoded requests may hold together (intake.max_bytes). Default: 1 GiB.
	MaxRequestBytes uint64

	// ParameterDirectories have Filecoin's .params and .vk files (parameters.directories). Default:
	// $FIL_PROOFS_PARAMETER_CACHE, else /var/tmp/filecoin-proof-parameters.
	ParameterDirectories []string
	// CacheDirectory is for native parameters and compiled matrices (cache.directory). Default: ~/.cache/forebay.
	CacheDirectory string

	// JournalFile keeps finished proofs over a restart (journal.file). Default: none; Spawn and serve have one.
	JournalFile string
	// JournalMaxProofs is how many proofs it keeps (journal.max_proofs). Default: 10000.
	JournalMaxProofs int

	// Timeouts are the longest times from acceptance to answer, by kind (timeouts.KIND). Default: none.
	Timeouts map[Kind]time.Duration

	// Raw is more TOML text, for keys that this struct does not have: keys of no section first, then sections, of which
	// none may be one that has a field set here.
	Raw string
}

// TOML is the configuration as the engine reads it.
func (c Config) TOML() string {
	var out tomlWriter
	out.section("")
	out.integer("threads", c.Threads)
	out.integer("synthesis_workers", c.SynthesisWorkers)
	out.text("backend", c.Backend)
	out.text("kernels", c.Kernels)
	out.texts("kinds", kindNames(c.Kinds))
	out.integer("keep_results", c.KeepResults)
	if c.AllowDevelopmentParameters {
		out.set("allow_development_parameters", "true")
	}
	root := out.String()
	out = tomlWriter{}
	out.section("memory")
	out.bytes("limit", c.MemoryLimit)
	out.bytes("margin", c.MemoryMargin)
	if c.MemoryPressure != nil {
		out.set("pressure", strconv.Itoa(*c.MemoryPressure))
	}
	out.section("residency")
	out.texts("pinned", c.Pinned)
	out.seconds("min_idle", c.MinIdle)
	out.section("schedule")
	out.seconds("patience", c.Patience)
	out.section("intake")
	out.integer("max_requests", c.MaxRequests)
	out.bytes("max_bytes", c.MaxRequestBytes)
	out.section("parameters")
	out.texts("directories", c.ParameterDirectories)
	out.section("cache")
	out.text("directory", c.CacheDirectory)
	out.section("journal")
	out.text("file", c.JournalFile)
	out.integer("max_proofs", c.JournalMaxProofs)
	out.section("timeouts")
	for _, kind := range Kinds() {
		if limit, ok := c.Timeouts[kind]; ok {
			out.seconds(string(kind), &limit)
		}
	}
	raw := c.Raw
	if raw != "" && !strings.HasSuffix(raw, "\n") {
		raw += "\n"
	}
	// A key without a section belongs before the first one, wherever it comes from.
	return root + raw + out.String()
}

// check refuses what TOML or the C ABI cannot carry.
func (c Config) check() error {
	if text := c.TOML(); !utf8.ValidString(text) {
		return newError(CodeInvalidConfig, "open", "the configuration is not UTF-8")
	}
	for kind := range c.Timeouts {
		if !kind.known() {
			return newError(CodeInvalidConfig, "open", "Timeouts has %q; expected one of %v", kind, Kinds())
		}
	}
	return nil
}

func (k Kind) known() bool {
	for _, kind := range Kinds() {
		if k == kind {
			return true
		}
	}
	return false
}

func kindNames(kinds []Kind) []string {
	var names []string
	for _, kind := range kinds {
		names = append(names, string(kind))
	}
	return names
}

// tomlWriter writes what is set, and the head of a section only where the section has something.
type tomlWriter struct {
	strings.Builder
	head string
}

func (w *tomlWriter) section(name string) {
	w.head = ""
	if name != "" {
		w.head = "[" + name + "]\n"
	}
}

func (w *tomlWriter) set(key, value string) {
	w.WriteString(w.head)
	w.head = ""
	fmt.Fprintf(w, "%s = %s\n", key, value)
}

func (w *tomlWriter) integer(key string, value int) {
	if value != 0 {
		w.set(key, strconv.Itoa(value))
	}
}

func (w *tomlWriter) bytes(key string, value uint64) {
	if value != 0 {
		w.set(key, tomlText(strconv.FormatUint(value, 10)))
	}
}

func (w *tomlWriter) seconds(key string, value *time.Duration) {
	if value != nil {
		seconds := *value / time.Second
		if *value%time.Second > 0 {
			seconds++ // A limit of half a second is not no limit.
		}
		w.set(key, strconv.FormatInt(int64(seconds), 10))
	}
}

func (w *tomlWriter) text(key, value string) {
	if value != "" {
		w.set(key, tomlText(value))
	}
}

func (w *tomlWriter) texts(key string, values []string) {
	if values == nil {
		return
	}
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = tomlText(value)
	}
	w.set(key, "["+strings.Join(quoted, ", ")+"]")
}

// tomlText is a basic string of TOML.
func tomlText(text string) string {
	if !utf8.ValidString(text) {
		return text // Not to be altered in silence: check refuses it.
	}
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
