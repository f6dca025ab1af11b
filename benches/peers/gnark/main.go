// Command gnark answers requests of forebay-bench: one JSON object a line in, one a line out. Field elements and
// points travel as little-endian 64-bit limbs in Montgomery form, which is gnark's own.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/consensys/gnark-crypto/utils/cpu"
)

type request struct {
	Op       string   `json:"op"`
	Threads  int      `json:"threads"`
	Product  string   `json:"product"`
	Values   []uint64 `json:"values"`
	Factors  []uint64 `json:"factors"`
	Rounds   int      `json:"rounds"`
	Group    string   `json:"group"`
	Points   string   `json:"points"`
	PointsG2 string   `json:"points_g2"`
	Scalars  string   `json:"scalars"`
	Out      string   `json:"out"`
	Bits     int      `json:"bits"`
	Wide     int      `json:"wide"`
}

type answer struct {
	Seconds     float64  `json:"seconds"`
	Cores       float64  `json:"cores"`
	Constraints int      `json:"constraints,omitempty"`
	Limbs       []uint64 `json:"limbs,omitempty"`
	Text        string   `json:"text,omitempty"`
	Error       string   `json:"error,omitempty"`
}

func handle(r request) (answer, error) {
	if r.Threads > 0 {
		runtime.GOMAXPROCS(r.Threads)
	}
	switch r.Op {
	case "about":
		return answer{Text: about()}, nil
	case "field":
		return field(r)
	case "msm":
		return msm(r)
	case "ntt":
		return ntt(r)
	case "prove":
		return prove(r)
	}
	return answer{}, fmt.Errorf("unknown op %q", r.Op)
}

func about() string {
	return fmt.Sprintf("ADX %t, AVX-512 %t, AVX-512 IFMA %t", cpu.SupportADX, cpu.SupportAVX512, cpu.SupportAVX512IFMA)
}

// timed returns an answer with the seconds that f takes, and those that all threads of this process run meanwhile.
func timed(f func()) answer {
	before, start := cores(), time.Now()
	f()
	return answer{Seconds: time.Since(start).Seconds(), Cores: cores() - before}
}

func cores() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var r request
		err := json.Unmarshal(in.Bytes(), &r)
		var a answer
		if err == nil {
			a, err = handle(r)
		}
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := out.Encode(a); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
