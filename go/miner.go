package forebay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/forebay/forebay/go/cuzkpb"
)

// PoStProof is a proof of spacetime with its registered type, the shape of the miner's own.
type PoStProof[P ~int64] struct {
	// PoStProof is the registered proof type.
	PoStProof P
	// ProofBytes is the proof, 192 bytes a partition of the circuit.
	ProofBytes []byte
}

// sectorSizes are the sector sizes of the registered proof types, in the order of their numbers within a version.
var sectorSizes = [5]uint64{2 << 10, 8 << 20, 512 << 20, 32 << 30, 64 << 30}

var sealNames = [5]string{"2KiB", "8MiB", "512MiB", "32GiB", "64GiB"}

var sealVersions = [4]string{"V1", "V1_1", "V1_1_Feat_SyntheticPoRep", "V1_2_Feat_NonInteractivePoRep"}

// sealNumber is the number of a seal proof type as a C1 output names it.
func sealNumber(name string) (uint64, bool) {
	for v, version := range sealVersions {
		for s, size := range sealNames {
			if name == "StackedDrg"+size+version {
				return uint64(v*len(sealNames) + s), true
			}
		}
	}
	return 0, false
}

// PoRepRequest is the request for the second half of a sector's sealing: phase1Output is the JSON that the first half
// gave (SealCommitPhase1). Two requests have the same id only where all of their content is the same: a sector whose C1
// was made again is another request.
func PoRepRequest(phase1Output []byte, sector, miner uint64) (*cuzkpb.SubmitProofRequest, error) {
	name, err := registeredProof(phase1Output)
	if err != nil {
		return nil, err
	}
	number, ok := sealNumber(name)
	if !ok {
		return nil, newError(CodeInvalidRequest, "porep", "the C1 output is of the unknown proof type %q", name)
	}
	size := sectorSizes[number%uint64(len(sectorSizes))]
	envelope, err := json.Marshal(struct {
		SectorNum  uint64
		Phase1Out  string
		SectorSize uint64
	}{sector, base64.StdEncoding.EncodeToString(phase1Output), size})
	if err != nil {
		return nil, newError(CodeInternal, "porep", "%v", err)
	}
	return &cuzkpb.SubmitProofRequest{
		RequestId:  fmt.Sprintf("porep-%d-%d-%s", miner, sector, fingerprint([][]byte{phase1Output})),
		ProofKind:  cuzkpb.ProofKind_POREP_SEAL_COMMIT,
		SectorSize: size, RegisteredProof: number, Priority: cuzkpb.Priority_NORMAL,
		VanillaProof: envelope, SectorNumber: sector, MinerId: miner,
	}, nil
}

// registeredProof reads the member of that name, and of what follows it nothing: a C1 output has many megabytes.
func registeredProof(c1 []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(c1))
	bad := func(err error) (string, error) {
		return "", newError(CodeInvalidRequest, "porep", "%d bytes are not the JSON of a C1 output: %v", len(c1), err)
	}
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return bad(fmt.Errorf("no JSON object: %v", err))
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return bad(err)
		}
		if key == "registered_proof" {
			var name string
			if err := decoder.Decode(&name); err != nil {
				return bad(err)
			}
			return name, nil
		}
		var skipped json.RawMessage
		if err := decoder.Decode(&skipped); err != nil {
			return bad(err)
		}
	}
	return bad(fmt.Errorf("it has no member registered_proof"))
}

// UpdateRequest is the request for the proof of a sector's update. The commitments are 32 bytes each; there is one
// vanilla proof a partition. The id follows from the content, for the call has neither miner nor sector.
func UpdateRequest(proofType uint64, oldR, newR, newD []byte, vanillas [][]byte) (*cuzkpb.SubmitProofRequest, error) {
	if proofType >= uint64(len(sectorSizes)) {
		return nil, newError(CodeInvalidRequest, "update", "proof type %d; expected 0 to %d", proofType, len(sectorSizes)-1)
	}
	request := &cuzkpb.SubmitProofRequest{
		ProofKind: cuzkpb.ProofKind_SNAP_DEALS_UPDATE, SectorSize: sectorSizes[proofType], RegisteredProof: proofType,
		Priority: cuzkpb.Priority_NORMAL, VanillaProofs: vanillas, CommROld: oldR, CommRNew: newR, CommDNew: newD,
	}
	request.RequestId = "snap-" + fingerprint(append([][]byte{oldR, newR, newD}, vanillas...))
	return request, nil
}

// WinningPoStRequest is the request for a WinningPoSt, with one vanilla proof a sector that was drawn. Two requests
// have the same id only where all of their content is the same.
func WinningPoStRequest(proofType, miner uint64, randomness []byte, proofs [][]byte) (*cuzkpb.SubmitProofRequest, error) {
	request, err := postRequest(proofType, miner, randomness, proofs, 0)
	if err != nil {
		return nil, err
	}
	request.ProofKind, request.Priority = cuzkpb.ProofKind_WINNING_POST, cuzkpb.Priority_CRITICAL
	request.RequestId = fmt.Sprintf("winpost-%d-%s", miner, fingerprint(append([][]byte{randomness}, proofs...)))
	return request, nil
}

// WindowPoStRequest is the request for one partition of a deadline, with one vanilla proof a sector. Two requests
// have the same id only where miner, partition, randomness and proofs are: a partition that is proved again with
// sectors skipped is another request.
func WindowPoStRequest(proofType, miner uint64, randomness []byte, proofs [][]byte, partition uint32) (*cuzkpb.SubmitProofRequest, error) {
	request, err := postRequest(proofType, miner, randomness, proofs, partition)
	if err != nil {
		return nil, err
	}
	request.ProofKind, request.Priority = cuzkpb.ProofKind_WINDOW_POST_PARTITION, cuzkpb.Priority_HIGH
	request.RequestId = fmt.Sprintf("wdpost-%d-%d-%s", miner, partition, fingerprint(append([][]byte{randomness}, proofs...)))
	return request, nil
}

func postRequest(proofType, miner uint64, randomness []byte, proofs [][]byte, partition uint32) (*cuzkpb.SubmitProofRequest, error) {
	if count := uint64(3 * len(sectorSizes)); proofType >= count {
		return nil, newError(CodeInvalidRequest, "post", "proof type %d; expected 0 to %d", proofType, count-1)
	}
	if len(randomness) != 32 {
		return nil, newError(CodeInvalidRequest, "post", "randomness has %d bytes; expected 32", len(randomness))
	}
	// As the chain's verifier does: the randomness is a field element.
	element := bytes.Clone(randomness)
	element[31] &= 0x3f
	return &cuzkpb.SubmitProofRequest{
		SectorSize: sectorSizes[proofType%uint64(len(sectorSizes))], RegisteredProof: proofType,
		VanillaProofs: proofs, MinerId: miner, Randomness: element, PartitionIndex: partition,
	}, nil
}

// fingerprint tells contents apart.
func fingerprint(parts [][]byte) string {
	hash := sha256.New()
	for _, part := range parts {
		_ = binary.Write(hash, binary.LittleEndian, uint64(len(part)))
		hash.Write(part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// Miner has the miner's proof calls as methods, bound to a prover. The type parameters are the miner's own types, such
// as abi.SectorNumber, abi.ActorID, abi.RegisteredPoStProof and abi.RegisteredUpdateProof, so that they pass
// unconverted:
//
//	miner := forebay.Miner[abi.SectorNumber, abi.ActorID, abi.RegisteredPoStProof, abi.RegisteredUpdateProof]{Prover: prover}
//
// The functions of the same names do the same with the prover of [Use].
type Miner[S, A ~uint64, P, U ~int64] struct {
	// Prover makes the proofs.
	Prover Prover
	// Context ends all calls; nil: context.Background().
	Context context.Context
}

func (m Miner[S, A, P, U]) context() context.Context {
	if m.Context != nil {
		return m.Context
	}
	return context.Background()
}

// SealCommitPhase2 gives the proof of a sector's sealing. It waits while the prover is busy.
func (m Miner[S, A, P, U]) SealCommitPhase2(phase1Output []byte, sectorNum S, minerID A) ([]byte, error) {
	request, err := PoRepRequest(phase1Output, uint64(sectorNum), uint64(minerID))
	return proofOf(m.context(), m.Prover, request, err)
}

// GenerateUpdateProofWithVanilla gives the proof of a sector's update. A commitment is a CID (anything with
// Bytes() []byte), []byte or [32]byte.
func (m Miner[S, A, P, U]) GenerateUpdateProofWithVanilla(proofType U, oldSealed, newSealed, unsealed any, vanillas [][]byte) ([]byte, error) {
	request, err := updateRequest(int64(proofType), oldSealed, newSealed, unsealed, vanillas)
	return proofOf(m.context(), m.Prover, request, err)
}

// GenerateWinningPoStWithVanilla gives a WinningPoSt: one proof.
func (m Miner[S, A, P, U]) GenerateWinningPoStWithVanilla(proofType P, minerID A, randomness []byte, proofs [][]byte) ([]PoStProof[P], error) {
	request, err := WinningPoStRequest(uint64(proofType), uint64(minerID), randomness, proofs)
	proof, err := proofOf(m.context(), m.Prover, request, err)
	if err != nil {
		return nil, err
	}
	return []PoStProof[P]{{proofType, proof}}, nil
}

// GenerateSinglePartitionWindowPoStWithVanilla gives the proof of one partition of a deadline.
func (m Miner[S, A, P, U]) GenerateSinglePartitionWindowPoStWithVanilla(proofType P, minerID A, randomness []byte, proofs [][]byte, partition uint) (*PoStProof[P], error) {
	if partition > 1<<32-1 {
		return nil, newError(CodeInvalidRequest, "post", "partition %d is too large", partition)
	}
	request, err := WindowPoStRequest(uint64(proofType), uint64(minerID), randomness, proofs, uint32(partition))
	proof, err := proofOf(m.context(), m.Prover, request, err)
	if err != nil {
		return nil, err
	}
	return &PoStProof[P]{proofType, proof}, nil
}

func proofOf(ctx context.Context, prover Prover, request *cuzkpb.SubmitProofRequest, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if prover == nil {
		return nil, newError(CodeInvalidArgument, "prove", "there is no prover; call forebay.Use, or set Miner.Prover")
	}
	response, err := ProveWhenRoom(ctx, prover, request)
	return response.GetProof(), err
}

func updateRequest(proofType int64, oldSealed, newSealed, unsealed any, vanillas [][]byte) (*cuzkpb.SubmitProofRequest, error) {
	oldR, err := commitment("the old sealed commitment", oldSealed, sealedPrefix)
	if err != nil {
		return nil, err
	}
	newR, err := commitment("the new sealed commitment", newSealed, sealedPrefix)
	if err != nil {
		return nil, err
	}
	newD, err := commitment("the new unsealed commitment", unsealed, unsealedPrefix)
	if err != nil {
		return nil, err
	}
	return UpdateRequest(uint64(proofType), oldR, newR, newD, vanillas)
}

// The bytes of a commitment's CID before its digest: version 1, codec, multihash, 32 bytes.
var (
	sealedPrefix   = cidPrefix(0xf102, 0xb401) // fil-commitment-sealed, poseidon-bls12_381-a2-fc1
	unsealedPrefix = cidPrefix(0xf101, 0x1012) // fil-commitment-unsealed, sha2-256-trunc254-padded
)

func cidPrefix(codec, hash uint64) []byte {
	prefix := binary.AppendUvarint([]byte{1}, codec)
	return append(binary.AppendUvarint(prefix, hash), 32)
}

// commitment is the 32 bytes of a CID with this prefix, or of the bytes themselves.
func commitment(name string, value any, prefix []byte) ([]byte, error) {
	var all []byte
	switch value := value.(type) {
	case [32]byte:
		return value[:], nil
	case []byte:
		all = value
	case interface{ Bytes() []byte }:
		all = value.Bytes()
	default:
		return nil, newError(CodeInvalidRequest, "update", "%s is a %T; expected a CID, []byte or [32]byte", name, value)
	}
	digest, isCID := bytes.CutPrefix(all, prefix)
	if len(digest) != 32 {
		problem := strconv.Itoa(len(all)) + " bytes"
		if !isCID {
			problem += " that do not begin with " + hex.EncodeToString(prefix)
		}
		return nil, newError(CodeInvalidRequest, "update", "%s has %s; expected 32 bytes or their CID", name, problem)
	}
	return digest, nil
}

var used atomic.Pointer[Prover]

// Use makes a prover that of this package's functions with the names of the miner's proof calls: [SealCommitPhase2]
// and its kin. nil takes it away.
func Use(prover Prover) {
	if prover == nil {
		used.Store(nil)
		return
	}
	used.Store(&prover)
}

func inUse() Prover {
	if prover := used.Load(); prover != nil {
		return *prover
	}
	return nil
}

// SealCommitPhase2 is Miner.SealCommitPhase2 with the prover of [Use].
func SealCommitPhase2[S, A ~uint64](phase1Output []byte, sectorNum S, minerID A) ([]byte, error) {
	return Miner[S, A, int64, int64]{Prover: inUse()}.SealCommitPhase2(phase1Output, sectorNum, minerID)
}

// GenerateUpdateProofWithVanilla is that of [Miner] with the prover of [Use].
func GenerateUpdateProofWithVanilla[U ~int64](proofType U, oldSealed, newSealed, unsealed any, vanillas [][]byte) ([]byte, error) {
	return Miner[uint64, uint64, int64, U]{Prover: inUse()}.GenerateUpdateProofWithVanilla(proofType, oldSealed, newSealed, unsealed, vanillas)
}

// GenerateWinningPoStWithVanilla is that of [Miner] with the prover of [Use].
func GenerateWinningPoStWithVanilla[P ~int64, A ~uint64](proofType P, minerID A, randomness []byte, proofs [][]byte) ([]PoStProof[P], error) {
	return Miner[uint64, A, P, int64]{Prover: inUse()}.GenerateWinningPoStWithVanilla(proofType, minerID, randomness, proofs)
}

// GenerateSinglePartitionWindowPoStWithVanilla is that of [Miner] with the prover of [Use].
func GenerateSinglePartitionWindowPoStWithVanilla[P ~int64, A ~uint64](proofType P, minerID A, randomness []byte, proofs [][]byte, partition uint) (*PoStProof[P], error) {
	return Miner[uint64, A, P, int64]{Prover: inUse()}.GenerateSinglePartitionWindowPoStWithVanilla(proofType, minerID, randomness, proofs, partition)
}
