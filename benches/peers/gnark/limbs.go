package main

import (
	"fmt"
	"os"
	"unsafe"
)

// elements reads a file of values that are nothing but limbs.
func elements[T any](path string) ([]T, error) {
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var one T
	size := int(unsafe.Sizeof(one))
	if len(bytes) == 0 || len(bytes)%size != 0 {
		return nil, fmt.Errorf("%s: %d bytes are no values of %d", path, len(bytes), size)
	}
	values := make([]T, len(bytes)/size)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(bytes)), bytes)
	return values, nil
}

// write writes such a file.
func write[T any](path string, values []T) error {
	size := len(values) * int(unsafe.Sizeof(values[0]))
	return os.WriteFile(path, unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), size), 0o600)
}

// cached reads a file on first use.
func cached[T any](cache map[string][]T, path string) ([]T, error) {
	if values, ok := cache[path]; ok {
		return values, nil
	}
	values, err := elements[T](path)
	if err == nil {
		cache[path] = values
	}
	return values, err
}
