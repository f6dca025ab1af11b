package forebay

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program with a Rust static library, another copy of blst, and -z now.
func TestNeighboursInOneProcess(t *testing.T) {
	library, cache := libraryPath(t), testCache(t)
	if _, err := exec.LookPath("cargo"); err != nil {
		need(t, "cargo", "it is not on $PATH")
	}
	folder, err := filepath.Abs("internal/neighbours")
	if err != nil {
		t.Fatal(err)
	}
	target, _ := filepath.Abs("../target/neighbour")
	build := func(name string, arguments ...string) {
		command := exec.Command(name, arguments...)
		command.Dir = folder
		command.Env = append(os.Environ(), "CGO_LDFLAGS=-L"+filepath.Join(target, "release"), "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v: %s", name, strings.Join(arguments, " "), err, out)
		}
	}
	program, proof := filepath.Join(t.TempDir(), "neighbours"), filepath.Join(t.TempDir(), "proof")
	build("cargo", "build", "--release", "--locked", "--manifest-path", "rust/Cargo.toml", "--target-dir", target)
	// The two static copies of blst define the same names.
	build("go", "build", "-ldflags", "-linkmode external -extldflags '-Wl,-z,now -Wl,--allow-multiple-definition'", "-o", program, ".")
	linked, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer linked.Close()
	if flags, err := linked.DynValue(elf.DT_FLAGS); err != nil || len(flags) != 1 || flags[0]&uint64(elf.DF_BIND_NOW) == 0 {
		t.Fatalf("the program is not linked with -z now: %v %v", flags, err)
	}
	build(program, library, cache, requestPath(t, WindowPost), proof)
	made, err := os.ReadFile(proof)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, WindowPost, made)
}
