package trace

import "go.opentelemetry.io/otel/attribute"

// Attributes of spans. Names are those of OpenTelemetry's semantic conventions where these have one (resource k8s and cloud,
// attributes aws, rpc, messaging and error), and begin with kerf elsewhere.
const (
	// DecisionID is the ID that joins spans, log lines and objects.
	DecisionID attribute.Key = "kerf.decision.id"
	// CommandID is the decision by which the node of a span goes.
	CommandID attribute.Key = "kerf.command.id"
	// NodeClaim and NodePool are names of objects, for which the conventions have no attribute.
	NodeClaim attribute.Key = "kerf.nodeclaim.name"
	NodePool  attribute.Key = "kerf.nodepool.name"
	// LaunchID is the client token of a CreateFleet, on the call and on each launch that it serves.
	LaunchID attribute.Key = "kerf.launch.id"
	// Pods counts pods; Unplaced those without a place. NewNodes counts nodes to launch, Nodes those that go.
	Pods     attribute.Key = "kerf.pods"
	Unplaced attribute.Key = "kerf.pods.unplaced"
	NewNodes attribute.Key = "kerf.nodes.new"
	Nodes    attribute.Key = "kerf.nodes.disrupted"
	Reason   attribute.Key = "kerf.reason"
	Price    attribute.Key = "kerf.price.micro_usd_per_hour"

	Node         attribute.Key = "k8s.node.name"
	Zone         attribute.Key = "cloud.availability_zone"
	Region       attribute.Key = "cloud.region"
	ResourceID   attribute.Key = "cloud.resource_id"
	HostID       attribute.Key = "host.id"
	HostType     attribute.Key = "host.type"
	CapacityType attribute.Key = "kerf.capacity_type"

	RPCSystem  attribute.Key = "rpc.system"
	RPCService attribute.Key = "rpc.service"
	RPCMethod  attribute.Key = "rpc.method"
	RequestID  attribute.Key = "aws.request_id"
	HTTPStatus attribute.Key = "http.response.status_code"
	ErrorType  attribute.Key = "error.type"

	MessagingSystem    attribute.Key = "messaging.system"
	MessagingOperation attribute.Key = "messaging.operation.type"
	MessageID          attribute.Key = "messaging.message.id"
	Destination        attribute.Key = "messaging.destination.name"
)
