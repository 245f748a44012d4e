// Package story joins what is said of one decision. Its ID stands on the NodeClaims that the decision makes or ends, on their
// Nodes, on each log line about them, and on the spans of a trace, so that the next leader goes on with it.
package story

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	karpv1 "github.com/kerf-sh/kerf/api/karpenter/v1"
	"github.com/kerf-sh/kerf/internal/controller/index"
	"github.com/kerf-sh/kerf/internal/trace"
)

const (
	// DecisionAnnotation is on NodeClaims, and on Nodes by them: the ID of the decision that launched them. For a replacement that
	// is the ID of the command that it was launched for.
	DecisionAnnotation = "kerf.sh/decision-id"
	// EndedByAnnotation is on a NodeClaim that a command has deleted: its ID.
	EndedByAnnotation = "kerf.sh/ended-by"
	// TraceparentAnnotation is on NodeClaims while traces are on: the span below which their further life is recorded (W3C Trace
	// Context).
	TraceparentAnnotation = "kerf.sh/traceparent"
)

// Keys of log lines.
const (
	DecisionKey = "decision-id"
	CommandKey  = "command-id"
)

// PodsSaid is how many pods a log line names.
const PodsSaid = 10

// List names the first of n things, at most so many, and counts the others.
func List(n, most int, name func(int) string) string {
	var b strings.Builder
	for i := range min(n, most) {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name(i))
	}
	if n > most {
		fmt.Fprintf(&b, " and %d other(s)", n-most)
	}
	return b.String()
}

// NewID is the ID of a decision: 16 hexadecimal digits, as that of a command. It is drawn, so that two leaders never give the
// same.
func NewID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// Of is what a log line about a NodeClaim says besides: which decision launched it, and by which command it goes.
func Of(claim *karpv1.NodeClaim) []any {
	if claim == nil {
		return nil
	}
	return said(claim.Annotations[DecisionAnnotation], claim.Annotations[EndedByAnnotation])
}

// OfNode is the same about a Node.
func OfNode(node *corev1.Node) []any {
	return said(node.Annotations[DecisionAnnotation], index.CommandOf(node))
}

func said(decision, command string) (out []any) {
	if decision != "" {
		out = append(out, DecisionKey, decision)
	}
	if command != "" {
		out = append(out, CommandKey, command)
	}
	return out
}

// Resume is ctx in the trace of a NodeClaim: that of the command by which it goes, or else that of the decision that launched it.
func Resume(ctx context.Context, t *trace.Tracer, claim *karpv1.NodeClaim) context.Context {
	if t == nil {
		return ctx
	}
	id := claim.Annotations[EndedByAnnotation]
	if id == "" {
		id = claim.Annotations[DecisionAnnotation]
	}
	return t.Resume(ctx, id, claim.Annotations[TraceparentAnnotation])
}

// Describe sets the attributes of a span about a NodeClaim.
func Describe(span *trace.Span, claim *karpv1.NodeClaim) {
	if span == nil {
		return
	}
	span.Text(trace.NodeClaim, claim.Name)
	span.Text(trace.NodePool, claim.Labels[karpv1.NodePoolLabelKey])
	span.Text(trace.Node, claim.Status.NodeName)
	span.Text(trace.ResourceID, claim.Status.ProviderID)
	span.Text(trace.HostType, claim.Labels[corev1.LabelInstanceTypeStable])
	span.Text(trace.Zone, claim.Labels[corev1.LabelTopologyZone])
	span.Text(trace.CapacityType, claim.Labels[karpv1.CapacityTypeLabelKey])
	span.Text(trace.CommandID, claim.Annotations[EndedByAnnotation])
}
