package forebay

import (
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// field is a row of the field table of cuzk.v1.
type field struct {
	name     string
	number   int32
	kind     descriptorpb.FieldDescriptorProto_Type
	repeated bool
}

const (
	aString = descriptorpb.FieldDescriptorProto_TYPE_STRING
	aUint32 = descriptorpb.FieldDescriptorProto_TYPE_UINT32
	aUint64 = descriptorpb.FieldDescriptorProto_TYPE_UINT64
	aInt32  = descriptorpb.FieldDescriptorProto_TYPE_INT32 // An enum on the wire.
	aBytes  = descriptorpb.FieldDescriptorProto_TYPE_BYTES
)

// The messages of the miner's client, from the table of the protocol and not from this repository's .proto files.
var fieldTable = map[string][]field{
	"SubmitProofRequest": {
		{"request_id", 1, aString, false}, {"proof_kind", 2, aInt32, false}, {"sector_size", 3, aUint64, false},
		{"registered_proof", 4, aUint64, false}, {"priority", 5, aInt32, false}, {"vanilla_proof", 10, aBytes, false},
		{"vanilla_proofs", 11, aBytes, true}, {"sector_number", 20, aUint64, false}, {"miner_id", 21, aUint64, false},
		{"randomness", 22, aBytes, false}, {"partition_index", 23, aUint32, false}, {"comm_r_old", 30, aBytes, false},
		{"comm_r_new", 31, aBytes, false}, {"comm_d_new", 32, aBytes, false},
	},
	"SubmitProofResponse": {{"job_id", 1, aString, false}, {"queue_position", 2, aUint32, false}, {"assigned_gpu", 3, aString, false}},
	"AwaitProofRequest":   {{"job_id", 1, aString, false}, {"timeout_ms", 2, aUint64, false}},
	"AwaitProofResponse": {
		{"job_id", 1, aString, false}, {"status", 2, aInt32, false}, {"proof", 3, aBytes, false},
		{"error_message", 4, aString, false}, {"queue_wait_ms", 10, aUint64, false}, {"srs_load_ms", 11, aUint64, false},
		{"synthesis_ms", 12, aUint64, false}, {"gpu_compute_ms", 13, aUint64, false}, {"total_ms", 14, aUint64, false},
	},
}

func independentMessages(t *testing.T) protoreflect.MessageDescriptors {
	t.Helper()
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("table.proto"), Package: proto.String("cuzk.v1"), Syntax: proto.String("proto3"),
	}
	for name, fields := range fieldTable {
		message := &descriptorpb.DescriptorProto{Name: proto.String(name)}
		for _, f := range fields {
			label := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
			if f.repeated {
				label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
			}
			message.Field = append(message.Field, &descriptorpb.FieldDescriptorProto{
				Name: proto.String(f.name), Number: proto.Int32(f.number), Type: f.kind.Enum(), Label: label.Enum(),
			})
		}
		file.MessageType = append(file.MessageType, message)
	}
	described, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return described.Messages()
}

func TestAnIndependentClientProvesThroughServe(t *testing.T) {
	s := serve(t, testConfig(t), "")
	connection, messages, ctx := connect(t, s.target), independentMessages(t), withTime(t, time.Minute)
	made := func(name string) *dynamicpb.Message {
		return dynamicpb.NewMessage(messages.ByName(protoreflect.Name(name)))
	}
	get := func(m *dynamicpb.Message, name string) protoreflect.Value {
		return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
	}
	submit := made("SubmitProofRequest")
	bytes, err := os.ReadFile(requestPath(t, WindowPost))
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(bytes, submit); err != nil {
		t.Fatal(err)
	}
	if unknown := submit.GetUnknown(); len(unknown) != 0 {
		t.Fatalf("%d bytes of the request are not in the table", len(unknown))
	}
	// What only the table and the typed message agree on.
	typed, err := RequestFrom(submit)
	if err != nil || !proto.Equal(typed, request(t, WindowPost, "")) {
		t.Fatal("the table and the typed message differ", err)
	}
	submitted := made("SubmitProofResponse")
	if err := connection.Invoke(ctx, "/cuzk.v1.ProvingEngine/SubmitProof", submit, submitted); err != nil {
		t.Fatal(err)
	}
	wait := made("AwaitProofRequest")
	wait.Set(wait.Descriptor().Fields().ByName("job_id"), get(submitted, "job_id"))
	answer := made("AwaitProofResponse")
	if err := connection.Invoke(ctx, "/cuzk.v1.ProvingEngine/AwaitProof", wait, answer); err != nil {
		t.Fatal(err)
	}
	if status := get(answer, "status").Int(); status != 1 {
		t.Fatalf("status %d: %s", status, get(answer, "error_message").String())
	}
	verify(t, WindowPost, get(answer, "proof").Bytes())
}
