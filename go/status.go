package forebay

import "encoding/json"

// StatusVersion is the version of the status document that [Status] is written for. A document of another version
// decodes as far as it goes; Raw always has all of it.
const StatusVersion = 1

// Status is a snapshot of an engine. Sizes are bytes.
type Status struct {
	// Version is raised when a field changes its meaning or goes away.
	Version int `json:"version"`
	// Library is the library's version.
	Library string `json:"library"`
	// Kernels are those that the processor's core runs, such as "portable".
	Kernels string `json:"kernels"`
	// State is "running", "draining" or "closed".
	State string `json:"state"`
	// UptimeSeconds since the engine was opened.
	UptimeSeconds uint64 `json:"uptime_seconds"`
	// Memory is what was promised, against the limit.
	Memory MemoryStatus `json:"memory"`
	// Process is what the kernel says of the engine's process.
	Process ProcessStatus `json:"process"`
	// Cells are promised and mapped bytes by class and stage.
	Cells []CellStatus `json:"cells"`
	// Queues are the requests by kind.
	Queues []QueueStatus `json:"queues"`
	// Circuits are those in memory or on their way.
	Circuits []CircuitStatus `json:"circuits"`
	// Slots are where the heavy step runs.
	Slots []SlotStatus `json:"slots"`
	// Partitions are those of all jobs, by stage.
	Partitions PartitionStatus `json:"partitions"`
	// Jobs are the unfinished ones, in the order in which they will be served.
	Jobs []JobReport `json:"jobs"`
	// Recent are the newest finished jobs, the newest first.
	Recent []JobReport `json:"recent"`
	// Totals since the engine was opened.
	Totals Totals `json:"totals"`

	// Raw is the whole document, with members that this package does not know yet.
	Raw json.RawMessage `json:"-"`
}

// MemoryStatus is the ledger's sums.
type MemoryStatus struct {
	Limit    uint64  `json:"limit"`    // The budget.
	Reserved uint64  `json:"reserved"` // Promised now.
	Peak     uint64  `json:"peak"`     // Most ever promised.
	Overruns uint64  `json:"overruns"` // Times a step held more than was promised for it.
	Ceiling  uint64  `json:"ceiling"`  // The most that the limit can become.
	Left     uint64  `json:"left"`     // What machine and control groups leave now.
	Group    string  `json:"group"`    // The control group that leaves the least; empty where none is limited.
	Pressure float64 `json:"pressure"` // Percent of the last ten seconds in which something waited for memory.
	Pressed  bool    `json:"pressed"`  // Sealing is slowed because of that.
}

// ProcessStatus is the resident memory of the engine's process, the host's own included.
type ProcessStatus struct {
	Resident  uint64 `json:"resident"`  // All resident bytes.
	Anonymous uint64 `json:"anonymous"` // Anonymous memory.
	Unbooked  uint64 `json:"unbooked"`  // Anonymous memory that no large buffer accounts for.
	File      uint64 `json:"file"`      // Mapped files and shared memory.
	Peak      uint64 `json:"peak"`      // The highest resident bytes so far.
}

// CellStatus is one class and stage of large buffers.
type CellStatus struct {
	Class    string `json:"class"`    // What for.
	Stage    string `json:"stage"`    // Where in the life of a partition.
	Reserved uint64 `json:"reserved"` // Promised bytes.
	Buffers  uint64 `json:"buffers"`  // Buffers that exist in the process.
	Mapped   uint64 `json:"mapped"`   // Their bytes.
}

// QueueStatus is the requests of one kind.
type QueueStatus struct {
	Kind       Kind   `json:"kind"`        // The proof kind.
	Pending    uint32 `json:"pending"`     // Accepted, nothing started.
	InProgress uint32 `json:"in_progress"` // Something started.
	Headroom   uint32 `json:"headroom"`    // As Prover.Headroom.
	// NextDeadlineMs is the least time that an unfinished one has left; nil where none has a limit.
	NextDeadlineMs *int64 `json:"next_deadline_ms"`
}

// PartitionStatus is how many partitions are in each stage, those of ended jobs included as long as their memory exists.
type PartitionStatus struct {
	Waiting   uint64 `json:"waiting"`   // Nothing is claimed for them.
	Synthesis uint64 `json:"synthesis"` // Their witness is being made.
	Queued    uint64 `json:"queued"`    // Their witness waits for a slot.
	Proving   uint64 `json:"proving"`   // In a slot.
	Proved    uint64 `json:"proved"`    // Their slot's work is done.
	Finishing uint64 `json:"finishing"` // Being finished and verified.
	Freeing   uint64 `json:"freeing"`   // Their memory is on its way back.
}

// CircuitStatus is one circuit's shared memory.
type CircuitStatus struct {
	Circuit string `json:"circuit"` // Such as "porep-32g".
	State   string `json:"state"`   // "loading", "resident" or "leaving".
	Bytes   uint64 `json:"bytes"`   // Promised for its SRS and matrices.
	Users   uint32 `json:"users"`   // Partitions that use it.
	Pinned  bool   `json:"pinned"`  // It never leaves to make room.
}

// SlotStatus is one prover slot.
type SlotStatus struct {
	Name           string `json:"name"`            // "cpu", or the device's name.
	Reserved       uint64 `json:"reserved"`        // Bytes of its working set, promised now.
	DeviceReserved uint64 `json:"device_reserved"` // Bytes of its device's memory, promised now.
	JobID          string `json:"job_id"`          // The job that it works on; empty where it is free.
	Partition      *int   `json:"partition"`       // That job's partition.
}

// Totals are counts since the engine was opened.
type Totals struct {
	Accepted             uint64 `json:"accepted"`              // Requests accepted.
	Refused              uint64 `json:"refused"`               // Requests refused at the door.
	Completed            uint64 `json:"completed"`             // Requests answered with a proof.
	Failed               uint64 `json:"failed"`                // Requests answered with an error.
	Cancelled            uint64 `json:"cancelled"`             // Requests cancelled.
	Proofs               uint64 `json:"proofs"`                // Partitions proved and verified.
	VerificationFailures uint64 `json:"verification_failures"` // Proofs that did not verify.
	Panics               uint64 `json:"panics"`                // Panics caught.
}

// JobReport is one job: where it is, and what it took so far. Times are milliseconds.
type JobReport struct {
	JobID           string `json:"job_id"`            // The engine's name for the job.
	RequestID       string `json:"request_id"`        // The miner's name for the request.
	Kind            Kind   `json:"kind"`              // The proof kind.
	Circuit         string `json:"circuit"`           // Such as "porep-32g".
	State           string `json:"state"`             // "queued", "running", "completed", "failed" or "cancelled".
	FromJournal     bool   `json:"from_journal"`      // The proof was made by an earlier engine.
	WaitsFor        string `json:"waits_for"`         // What it waits for; empty where it is worked on or has ended.
	Partitions      int    `json:"partitions"`        // Partitions of the request.
	PartitionsDone  int    `json:"partitions_done"`   // Partitions proved and verified.
	Stages          string `json:"stages"`            // A letter for each partition, see docs/operating.md.
	DeadlineMs      *int64 `json:"deadline_ms"`       // Time left, negative: late; nil: there is no limit.
	Constraints     uint64 `json:"constraints"`       // Constraints of the circuit.
	IntakeBytes     uint64 `json:"intake_bytes"`      // Bytes of the decoded request.
	WitnessBytes    uint64 `json:"witness_bytes"`     // Largest compact witness of a partition.
	WorkingSetBytes uint64 `json:"working_set_bytes"` // Largest slot working set promised for a partition.
	SRSBytes        uint64 `json:"srs_bytes"`         // Bytes of the circuit's SRS.
	MatricesBytes   uint64 `json:"matrices_bytes"`    // Bytes of the circuit's matrices.
	QueueWaitMs     uint64 `json:"queue_wait_ms"`     // Acceptance to the first synthesis.
	SRSLoadMs       uint64 `json:"srs_load_ms"`       // Loading the circuit, where this job waited for it.
	SynthesisMs     uint64 `json:"synthesis_ms"`      // Witness generation, summed over the partitions.
	StartMs         uint64 `json:"start_ms"`          // The slot's heavy step, summed.
	FinishMs        uint64 `json:"finish_ms"`         // The rest of the proofs, summed.
	VerifyMs        uint64 `json:"verify_ms"`         // Verification, summed.
	TotalMs         uint64 `json:"total_ms"`          // Acceptance to the answer.
	Reproved        uint32 `json:"reproved"`          // Proofs that did not verify and were made again.
	Device          string `json:"device"`            // The device of the last proof.
	Error           string `json:"error"`             // The error's text; empty without one.

	// Raw is the whole document, where the report came from Prover.Report.
	Raw json.RawMessage `json:"-"`
}

func readStatus(document []byte) (*Status, error) {
	status := &Status{Raw: document}
	if err := json.Unmarshal(document, status); err != nil {
		return nil, newError(CodeInternal, "status", "a status document that does not decode: %v", err)
	}
	return status, nil
}

func readReport(document []byte) (*JobReport, error) {
	report := &JobReport{Raw: document}
	if err := json.Unmarshal(document, report); err != nil {
		return nil, newError(CodeInternal, "report", "a report that does not decode: %v", err)
	}
	return report, nil
}
