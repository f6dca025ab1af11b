package forebay

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// Types such as the miner's.
type (
	sectorNumber  uint64
	actorID       uint64
	postProof     int64
	updateProof   int64
	randomness    []byte
	commitmentCID struct{ bytes []byte }
)

func (c commitmentCID) Bytes() []byte { return c.bytes }

func asCID(prefix, digest []byte) commitmentCID {
	return commitmentCID{append(bytes.Clone(prefix), digest...)}
}

func TestTheMinersOwnCalls(t *testing.T) {
	Use(openLibrary(t, testConfig(t)))
	t.Cleanup(func() { Use(nil) })

	porep := request(t, PorepC2, "")
	var envelope struct{ Phase1Out string }
	if err := json.Unmarshal(porep.GetVanillaProof(), &envelope); err != nil {
		t.Fatal(err)
	}
	c1, err := base64.StdEncoding.DecodeString(envelope.Phase1Out)
	if err != nil {
		t.Fatal(err)
	}
	built, err := PoRepRequest(c1, porep.GetSectorNumber(), porep.GetMinerId())
	if err != nil || !strings.HasPrefix(built.GetRequestId(), "porep-") || built.GetRegisteredProof() != porep.GetRegisteredProof() ||
		built.GetSectorSize() != porep.GetSectorSize() {
		t.Fatal(built.GetRequestId(), err)
	}
	proof, err := SealCommitPhase2(c1, sectorNumber(porep.GetSectorNumber()), actorID(porep.GetMinerId()))
	if err != nil {
		t.Fatal(err)
	}
	verify(t, PorepC2, proof)

	snap := request(t, SnapUpdate, "")
	proof, err = GenerateUpdateProofWithVanilla(updateProof(snap.GetRegisteredProof()), asCID(sealedPrefix, snap.GetCommROld()),
		[32]byte(snap.GetCommRNew()), asCID(unsealedPrefix, snap.GetCommDNew()), snap.GetVanillaProofs())
	if err != nil {
		t.Fatal(err)
	}
	verify(t, SnapUpdate, proof)

	window := request(t, WindowPost, "")
	partition, err := GenerateSinglePartitionWindowPoStWithVanilla(postProof(window.GetRegisteredProof()), actorID(window.GetMinerId()),
		randomness(window.GetRandomness()), window.GetVanillaProofs(), uint(window.GetPartitionIndex()))
	if err != nil {
		t.Fatal(err)
	}
	verify(t, WindowPost, partition.ProofBytes)

	winning := request(t, WinningPost, "")
	proofs, err := GenerateWinningPoStWithVanilla(postProof(winning.GetRegisteredProof()), actorID(winning.GetMinerId()),
		randomness(winning.GetRandomness()), winning.GetVanillaProofs())
	if err != nil || len(proofs) != 1 || proofs[0].PoStProof != postProof(winning.GetRegisteredProof()) {
		t.Fatal(proofs, err)
	}
	verify(t, WinningPost, proofs[0].ProofBytes)
}

func TestNoProverInUseIsAnError(t *testing.T) {
	Use(nil)
	_, err := SealCommitPhase2([]byte(`{"registered_proof":"StackedDrg2KiBV1"}`), sectorNumber(1), actorID(2))
	if !errors.Is(err, ErrInvalidArgument) {
		t.Fatal(err)
	}
}

func TestMalformedCallsAreRefused(t *testing.T) {
	digest := bytes.Repeat([]byte{7}, 32)
	for name, call := range map[string]func() error{
		"no JSON":          func() error { _, err := PoRepRequest([]byte("abc"), 1, 2); return err },
		"cut JSON":         func() error { _, err := PoRepRequest([]byte(`{"vanilla_proofs":[`), 1, 2); return err },
		"no proof type":    func() error { _, err := PoRepRequest([]byte(`{"comm_r":[1]}`), 1, 2); return err },
		"odd proof type":   func() error { _, err := PoRepRequest([]byte(`{"registered_proof":"Slow"}`), 1, 2); return err },
		"update type":      func() error { _, err := UpdateRequest(5, digest, digest, digest, nil); return err },
		"negative type":    func() error { _, err := updateRequest(-1, digest, digest, digest, nil); return err },
		"short commitment": func() error { _, err := updateRequest(0, digest[1:], digest, digest, nil); return err },
		"other commitment": func() error {
			_, err := updateRequest(0, asCID(unsealedPrefix, digest), digest, digest, nil)
			return err
		},
		"no commitment":     func() error { _, err := updateRequest(0, digest, 7, digest, nil); return err },
		"short randomness":  func() error { _, err := WindowPoStRequest(5, 1, digest[1:], nil, 0); return err },
		"unknown post type": func() error { _, err := WinningPoStRequest(15, 1, digest, nil); return err },
	} {
		if err := call(); !errors.Is(err, ErrInvalidRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestIdsTellRequestsApart(t *testing.T) {
	one, two := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	window := func(miner uint64, randomness []byte, partition uint32, proofs ...[]byte) string {
		request, err := WindowPoStRequest(5, miner, randomness, proofs, partition)
		if err != nil {
			t.Fatal(err)
		}
		return request.GetRequestId()
	}
	base := window(1, one, 0, []byte("a"), []byte("b"))
	if base != window(1, one, 0, []byte("a"), []byte("b")) {
		t.Error("the same request has two ids")
	}
	for _, other := range []string{
		window(2, one, 0, []byte("a"), []byte("b")), window(1, two, 0, []byte("a"), []byte("b")),
		window(1, one, 1, []byte("a"), []byte("b")), window(1, one, 0, []byte("a")), window(1, one, 0, []byte("ab")),
	} {
		if other == base {
			t.Errorf("two requests have the id %s", base)
		}
	}
	porep := func(seed string) string {
		request, err := PoRepRequest([]byte(`{"registered_proof":"StackedDrg2KiBV1_1","seed":"`+seed+`"}`), 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		return request.GetRequestId()
	}
	if porep("a") == porep("b") || porep("a") != porep("a") {
		t.Error("a sector whose C1 was made again keeps its id")
	}
}

func TestRandomnessIsAFieldElement(t *testing.T) {
	all := bytes.Repeat([]byte{0xff}, 32)
	request, err := WindowPoStRequest(5, 1, all, nil, 0)
	if err != nil || request.GetRandomness()[31] != 0x3f || all[31] != 0xff {
		t.Fatal(request, err)
	}
	again, _ := proto.Marshal(request)
	if len(again) == 0 {
		t.Fatal("empty")
	}
}

func TestSealTypesHaveTheirNumbers(t *testing.T) {
	for name, want := range map[string]uint64{
		"StackedDrg2KiBV1": 0, "StackedDrg64GiBV1": 4, "StackedDrg32GiBV1_1": 8,
		"StackedDrg32GiBV1_1_Feat_SyntheticPoRep": 13, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep": 15,
	} {
		if number, ok := sealNumber(name); !ok || number != want {
			t.Errorf("%s: %d", name, number)
		}
	}
}
