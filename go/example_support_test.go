package forebay_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain leaves out the example that needs a library and parameters where they are not there, saying so.
func TestMain(m *testing.M) {
	flag.Parse()
	for _, file := range []string{library(), filepath.Join(os.Getenv("FOREBAY_TEST_CACHE"), "requests", "window_post.request")} {
		if _, err := os.Stat(file); err != nil && os.Getenv("CI") != "true" {
			fmt.Printf("ExampleOpen is skipped: %v; see FOREBAY_LIBRARY and FOREBAY_TEST_CACHE in README.md\n", err)
			if err := flag.Set("test.skip", "^ExampleOpen$"); err != nil {
				panic(err)
			}
			break
		}
	}
	os.Exit(m.Run())
}

// library is the one under test.
func library() string {
	if set := os.Getenv("FOREBAY_LIBRARY"); set != "" {
		return set
	}
	return "../target/release/libforebay.so"
}
