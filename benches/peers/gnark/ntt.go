package main

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

var domains = map[int]*fft.Domain{}

// ntt transforms in natural order; the domain's tables are made before.
func ntt(r request) (answer, error) {
	from, err := cached(scalars, r.Scalars)
	if err != nil {
		return answer{}, err
	}
	domain, ok := domains[len(from)]
	if !ok {
		domain = fft.NewDomain(uint64(len(from)))
		domains[len(from)] = domain
	}
	values := append(from[:0:0], from...)
	a := timed(func() {
		domain.FFT(values, fft.DIF, fft.WithNbTasks(r.Threads))
		fft.BitReverse(values)
	})
	return a, write(r.Out, values)
}
