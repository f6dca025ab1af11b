package main

import (
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark/backend/groth16"
	curve "github.com/consensys/gnark/backend/groth16/bls12-381"
	"github.com/consensys/gnark/constraint"
	"github.com/consensys/gnark/frontend"
	"github.com/consensys/gnark/frontend/cs/r1cs"
	"github.com/consensys/gnark/logger"
)

// synthetic has a constraint for each bit, and one for each wide value: the squares of squares of the first.
type synthetic struct {
	Last  frontend.Variable `gnark:",public"`
	First frontend.Variable
	Bits  []frontend.Variable
	wide  int
}

func (c *synthetic) Define(api frontend.API) error {
	for _, bit := range c.Bits {
		api.AssertIsBoolean(bit)
	}
	value := c.First
	for i := 0; i < c.wide; i++ {
		value = api.Mul(value, value)
	}
	api.AssertIsEqual(value, c.Last)
	return nil
}

func assignment(r request) *synthetic {
	var value fr.Element
	value.SetUint64(3)
	c := &synthetic{First: value.BigInt(new(big.Int)), Bits: make([]frontend.Variable, r.Bits)}
	for i := range c.Bits {
		c.Bits[i] = (i ^ i>>3 ^ i>>7) & 1
	}
	for i := 0; i < r.Wide; i++ {
		value.Square(&value)
	}
	c.Last = value.BigInt(new(big.Int))
	return c
}

// key has random points in all its places: gnark's own setup would take longer than many proofs. The points of a
// request are used over and over.
func key(ccs constraint.ConstraintSystem, r request) (*curve.ProvingKey, error) {
	inG1, err := cached(pointsG1, r.Points)
	if err != nil {
		return nil, err
	}
	inG2, err := cached(pointsG2, r.PointsG2)
	if err != nil {
		return nil, err
	}
	made, err := groth16.DummySetup(ccs)
	if err != nil {
		return nil, err
	}
	pk, ok := made.(*curve.ProvingKey)
	if !ok {
		return nil, fmt.Errorf("the key is a %T", made)
	}
	for _, query := range [][]bls.G1Affine{pk.G1.A, pk.G1.B, pk.G1.K, pk.G1.Z} {
		for i := range query {
			query[i] = inG1[i%len(inG1)]
		}
	}
	for i := range pk.G2.B {
		pk.G2.B[i] = inG2[i%len(inG2)]
	}
	return pk, nil
}

// prove times one proof, solver included. The proof does not verify, as its key is none; its work is that of one.
func prove(r request) (answer, error) {
	logger.Disable()
	field := ecc.BLS12_381.ScalarField()
	blank := &synthetic{Bits: make([]frontend.Variable, r.Bits), wide: r.Wide}
	ccs, err := frontend.Compile(field, r1cs.NewBuilder, blank)
	if err != nil {
		return answer{}, err
	}
	pk, err := key(ccs, r)
	if err != nil {
		return answer{}, err
	}
	witness, err := frontend.NewWitness(assignment(r), field)
	if err != nil {
		return answer{}, err
	}
	a := timed(func() { _, err = groth16.Prove(ccs, pk, witness) })
	a.Constraints = ccs.GetNbConstraints()
	return a, err
}
