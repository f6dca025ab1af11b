// Package forebay makes Groth16 proofs for Filecoin storage miners, inside a fixed memory budget.
//
// [Open] loads libforebay.so into this process, [Spawn] starts a `forebay serve` as a child, and [Dial] speaks gRPC to
// one that runs elsewhere. All give a [Prover]. Every proof is verified before it is handed out.
//
// A miner that calls filecoin-ffi today says [Use] once and changes the package of its calls: [SealCommitPhase2],
// [GenerateUpdateProofWithVanilla], [GenerateWinningPoStWithVanilla] and
// [GenerateSinglePartitionWindowPoStWithVanilla] take the same arguments.
//
// A request, and the slices in it, must not be changed after it was handed in.
//
// Errors are [*Error], to be compared with errors.Is and the sentinels such as [ErrBusy]. Waiting goroutines hold no OS
// thread.
package forebay
