package main

import (
	"fmt"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// field multiplies every value by its factor, or by itself, as many times as there are rounds.
func field(r request) (answer, error) {
	switch r.Product {
	case "MultiplyFp":
		return repeat(r, fpOf, fpLimbs, (*fp.Element).Mul)
	case "SquareFp":
		return repeat(r, fpOf, fpLimbs, func(z, x, _ *fp.Element) *fp.Element { return z.Square(x) })
	case "MultiplyFr":
		return repeat(r, frOf, frLimbs, (*fr.Element).Mul)
	case "MultiplyFp2":
		return repeat(r, e2Of, e2Limbs, (*bls.E2).Mul)
	case "SquareFp2":
		return repeat(r, e2Of, e2Limbs, func(z, x, _ *bls.E2) *bls.E2 { return z.Square(x) })
	}
	return answer{}, fmt.Errorf("unknown product %q", r.Product)
}

func repeat[T any](r request, of func([]uint64) []T, limbs func(*T) []uint64, product func(z, x, y *T) *T) (answer, error) {
	values, factors := of(r.Values), of(r.Factors)
	if len(values) != len(factors) {
		return answer{}, fmt.Errorf("%d values and %d factors", len(values), len(factors))
	}
	a := timed(func() {
		for round := 0; round < r.Rounds; round++ {
			for i := range values {
				product(&values[i], &values[i], &factors[i])
			}
		}
	})
	for i := range values {
		a.Limbs = append(a.Limbs, limbs(&values[i])...)
	}
	return a, nil
}

func fpOf(limbs []uint64) (out []fp.Element) {
	for ; len(limbs) >= 6; limbs = limbs[6:] {
		out = append(out, fp.Element(limbs[:6]))
	}
	return out
}

func frOf(limbs []uint64) (out []fr.Element) {
	for ; len(limbs) >= 4; limbs = limbs[4:] {
		out = append(out, fr.Element(limbs[:4]))
	}
	return out
}

func e2Of(limbs []uint64) (out []bls.E2) {
	for ; len(limbs) >= 12; limbs = limbs[12:] {
		out = append(out, bls.E2{A0: fp.Element(limbs[:6]), A1: fp.Element(limbs[6:12])})
	}
	return out
}

func fpLimbs(e *fp.Element) []uint64 { return e[:] }

func frLimbs(e *fr.Element) []uint64 { return e[:] }

func e2Limbs(e *bls.E2) []uint64 { return append(append([]uint64{}, e.A0[:]...), e.A1[:]...) }
