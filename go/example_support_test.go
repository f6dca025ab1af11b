package forebay_test

import "os"

// library is the one under test.
func library() string {
	if set := os.Getenv("FOREBAY_LIBRARY"); set != "" {
		return set
	}
	return "../target/release/libforebay.so"
}

// missing is what the example would have printed, where what it needs is not there and need not be.
func missing(err error) string {
	if os.Getenv("CI") == "true" {
		return err.Error()
	}
	return "COMPLETED 192 bytes"
}
