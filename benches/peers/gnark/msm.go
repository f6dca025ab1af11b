package main

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"
	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

var (
	pointsG1 = map[string][]bls.G1Affine{}
	pointsG2 = map[string][]bls.G2Affine{}
	scalars  = map[string][]fr.Element{}
)

func msm(r request) (answer, error) {
	factors, err := cached(scalars, r.Scalars)
	if err != nil {
		return answer{}, err
	}
	config := ecc.MultiExpConfig{NbTasks: r.Threads}
	switch r.Group {
	case "G1":
		points, err := cached(pointsG1, r.Points)
		if err != nil {
			return answer{}, err
		}
		var sum bls.G1Affine
		a := timed(func() { _, err = sum.MultiExp(points[:len(factors)], factors, config) })
		a.Limbs = append(append([]uint64{}, sum.X[:]...), sum.Y[:]...)
		return a, err
	case "G2":
		points, err := cached(pointsG2, r.Points)
		if err != nil {
			return answer{}, err
		}
		var sum bls.G2Affine
		a := timed(func() { _, err = sum.MultiExp(points[:len(factors)], factors, config) })
		a.Limbs = append(e2Limbs(&sum.X), e2Limbs(&sum.Y)...)
		return a, err
	}
	return answer{}, fmt.Errorf("unknown group %q", r.Group)
}
