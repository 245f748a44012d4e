package fix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"al.essio.dev/pkg/shellescape"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/setup/stack/check"
)

// commandWriter writes the changes of an account as a shell script of aws commands that change what exists in place. A
// template could not: CloudFormation takes no resource that is there already, unless it is imported, and what it is made to
// own it deletes when a deployment fails.
type commandWriter struct {
	m *fixer
	b strings.Builder
	n int // steps so far
}

func (m *fixer) commands([]byte) ([]byte, error) {
	w := &commandWriter{m: m}
	// Each step builds on those before: a queue is made before its policy, and may be sent to before rules send.
	order := []struct {
		part part
		step func(change)
	}{
		{keyPart, w.key}, {queuePart, w.create}, {queuePart, w.queue}, {queuePolicyPart, w.queuePolicy}, {rulePart, w.rule}, {policyPart, w.policy},
		{rolePart, w.role}, {accessEntryPart, w.accessEntry}, {podIdentityPart, w.podIdentity}, {alarmPart, w.alarm},
	}
	for _, o := range order {
		for _, c := range m.changes {
			if c.part == o.part {
				o.step(c)
			}
		}
	}
	return []byte(w.head() + w.b.String()), nil
}

func (w *commandWriter) head() string {
	c := w.m.c
	return fmt.Sprintf(`#!/bin/sh
# What fixes cluster %s in account %s, region %s: %d changes to what is there, in place.
# Read it, then run it with the aws command: sh FILE. It can be run again; what is done already stays as it is.
# What CloudFormation or Terraform owns needs the same change in its source (kerf stack check FILE --fix), or their next
# run takes it back.
set -eu
export AWS_REGION=%[3]s AWS_DEFAULT_REGION=%[3]s AWS_PAGER=
[ "$(aws sts get-caller-identity --query Account --output text)" = %[2]s ] || { echo "these are not credentials of account %[2]s" >&2; exit 1; }
%[5]s`, c.Report.Cluster, c.Found.AccountID, c.Found.Region, w.n, (&templateWriter{m: w.m}).attach("# "))
}

// step begins a change.
func (w *commandWriter) step(format string, args ...any) {
	w.n++
	fmt.Fprintf(&w.b, "\n# %d. %s\n", w.n, fmt.Sprintf(format, args...))
}

// aws writes one command; flags are names and values in turn.
func (w *commandWriter) aws(service, operation string, flags ...string) {
	w.b.WriteString(command(service, operation, flags...) + "\n")
}

// unless writes a command that is left out if a test succeeds.
func (w *commandWriter) unless(test, service, operation string, flags ...string) {
	fmt.Fprintf(&w.b, "if ! %s; then\n  %s\nfi\n", test, command(service, operation, flags...))
}

func command(service, operation string, flags ...string) string {
	words := []string{"aws", service, operation}
	for i, f := range flags {
		if i%2 == 0 {
			words = append(words, f)
		} else if f != "" {
			words = append(words, shellescape.Quote(f))
		}
	}
	return strings.Join(words, " ")
}

func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

func document(d *iampolicy.Document) string { return string(d.Indent()) }

func wholeSeconds(d time.Duration) string { return strconv.Itoa(int(d / time.Second)) }

func (w *commandWriter) key(c change) {
	k := &w.m.s.Keys[c.index]
	if c.has("enabled") {
		w.step("Enable the key %s.", k.ID)
		w.aws("kms", "enable-key", "--key-id", k.ID)
	}
	if c.has("policy") {
		w.step("Write the policy of the key %s.", k.ID)
		w.aws("kms", "put-key-policy", "--key-id", k.ID, "--policy-name", "default", "--policy", document(k.Policy))
	}
}

// create makes a queue. Attributes that name other queues come later, when all are there.
func (w *commandWriter) create(c change) {
	if !c.added {
		return
	}
	q := &w.m.s.Queues[c.index]
	attributes := map[string]string{"MessageRetentionPeriod": wholeSeconds(q.Retention), "VisibilityTimeout": wholeSeconds(q.Visibility)}
	encryptionAttributes(q, attributes)
	flags := []string{"--queue-name", q.Name, "--attributes", jsonText(attributes)}
	if len(q.Tags) > 0 {
		flags = append(flags, "--tags", jsonText(q.Tags))
	}
	w.step("Make the queue %s. (SQS refuses the name for a minute after a queue of that name was deleted; run this again then.)", q.Name)
	w.aws("sqs", "create-queue", flags...)
}

func encryptionAttributes(q *awssetup.Queue, attributes map[string]string) {
	if q.ManagedSSE {
		attributes["SqsManagedSseEnabled"] = "true"
	} else if q.KMSKey != "" {
		attributes["KmsMasterKeyId"] = q.KMSKey
	}
}

func (w *commandWriter) queue(c change) {
	q := &w.m.s.Queues[c.index]
	attributes := map[string]string{}
	var what []string
	if c.has("retention") {
		attributes["MessageRetentionPeriod"] = wholeSeconds(q.Retention)
		what = append(what, "how long it keeps messages")
	}
	if c.has("visibility") {
		attributes["VisibilityTimeout"] = wholeSeconds(q.Visibility)
		what = append(what, "how long it hides what was received")
	}
	if c.has("delay") {
		attributes["DelaySeconds"] = "0"
		what = append(what, "how long it holds a message back")
	}
	if c.has("size") {
		attributes["MaximumMessageSize"] = fmt.Sprint(q.MaxMessage)
		what = append(what, "how large a message may be")
	}
	if c.has("encryption") {
		encryptionAttributes(q, attributes)
		if q.ManagedSSE {
			attributes["KmsMasterKeyId"] = "" // SQS takes one of the two
		}
		what = append(what, "its encryption")
	}
	if (c.added || c.has("redrive")) && q.DeadLetter != "" {
		attributes["RedrivePolicy"] = jsonText(map[string]any{"deadLetterTargetArn": q.DeadLetter, "maxReceiveCount": q.MaxReceives})
		what = append(what, "its dead-letter queue")
	}
	if len(attributes) > 0 {
		w.step("Set of the queue %s: %s.", q.Name, check.Enumerate(what))
		w.aws("sqs", "set-queue-attributes", "--queue-url", q.URL, "--attributes", jsonText(attributes))
	}
	if !c.added && c.has("tags") {
		w.step("Say on the queue %s whose it is.", q.Name)
		w.aws("sqs", "tag-queue", "--queue-url", q.URL, "--tags", jsonText(map[string]string{discoveryTag: q.Tags[discoveryTag]}))
	}
}

const discoveryTag = "karpenter.sh/discovery"

func (w *commandWriter) queuePolicy(c change) {
	q := &w.m.s.Queues[c.index]
	w.step("Write the policy of the queue %s.", q.Name)
	w.aws("sqs", "set-queue-attributes", "--queue-url", q.URL, "--attributes", jsonText(map[string]string{"Policy": string(q.Policy.JSON())}))
}

func (w *commandWriter) rule(c change) {
	r := &w.m.s.Rules[c.index]
	switch {
	case c.added || c.has("pattern"):
		w.step("Have the rule %s catch its events.", r.Name)
		flags := []string{"--name", r.Name, "--event-pattern", check.Compact(r.Pattern), "--state", "ENABLED"}
		if r.Description != "" { // it would be lost
			flags = append(flags, "--description", r.Description)
		}
		w.aws("events", "put-rule", flags...)
	case c.has("enabled"):
		w.step("Enable the rule %s.", r.Name)
		w.aws("events", "enable-rule", "--name", r.Name)
	}
	if !c.added && !c.has("targets") {
		return
	}
	w.step("Have the rule %s send to the queue.", r.Name)
	type deadLetter struct{ Arn string }
	type target struct {
		ID               string `json:"Id"`
		Arn              string
		RoleArn          string          `json:",omitempty"`
		RetryPolicy      *awssetup.Retry `json:",omitempty"`
		DeadLetterConfig *deadLetter     `json:",omitempty"`
	}
	var targets []target
	for _, t := range r.Targets {
		if w.m.c.Found.Queue == nil || t.ARN != w.m.c.Found.Queue.ARN {
			continue // of others
		}
		x := target{ID: t.ID, Arn: t.ARN, RoleArn: t.RoleARN, RetryPolicy: t.Retry}
		if t.DeadLetter != "" {
			x.DeadLetterConfig = &deadLetter{t.DeadLetter}
		}
		targets = append(targets, x)
	}
	w.aws("events", "put-targets", "--rule", r.Name, "--targets", jsonText(targets))
}

func (w *commandWriter) policy(c change) {
	p := &w.m.s.Policies[c.index]
	switch {
	case c.has("drop"):
		w.step("Take the policy %s away: nothing in it is needed.", p.Name)
		for _, role := range w.m.dropped[p.ARN] {
			w.detach(role, p.ARN)
		}
		fmt.Fprintf(&w.b, "# Nothing here uses it any more; if nothing else does: aws iam delete-policy --policy-arn %s\n", p.ARN)
	case c.added:
		w.step("Make the policy %s.", p.Name)
		w.unless("aws iam get-policy --policy-arn "+shellescape.Quote(p.ARN)+" >/dev/null 2>&1", "iam", "create-policy", "--policy-name", p.Name, "--policy-document", document(p.Document))
		for _, role := range p.AttachedTo {
			w.aws("iam", "attach-role-policy", "--role-name", role, "--policy-arn", p.ARN)
		}
	default:
		w.step("Write the policy %s anew. IAM keeps five versions of it; the oldest make room.", p.Name)
		fmt.Fprintf(&w.b, "for version in $(aws iam list-policy-versions --policy-arn %s --query 'sort_by(Versions[?!IsDefaultVersion], &CreateDate)[:-3].VersionId' --output text); do\n"+
			"  [ \"$version\" = None ] || aws iam delete-policy-version --policy-arn %[1]s --version-id \"$version\"\ndone\n", shellescape.Quote(p.ARN))
		w.aws("iam", "create-policy-version", "--policy-arn", p.ARN, "--set-as-default", "", "--policy-document", document(p.Document))
	}
}

func (w *commandWriter) detach(role, arn string) {
	fmt.Fprintf(&w.b, "if aws iam list-attached-role-policies --role-name %s --query 'AttachedPolicies[].PolicyArn' --output text | grep -qwF %s; then\n  %s\nfi\n",
		shellescape.Quote(role), shellescape.Quote(arn), command("iam", "detach-role-policy", "--role-name", role, "--policy-arn", arn))
}

func (w *commandWriter) role(c change) {
	r := &w.m.s.Roles[c.index]
	if c.has("trust") {
		w.step("Write who may take the role %s.", r.Name)
		w.aws("iam", "update-assume-role-policy", "--role-name", r.Name, "--policy-document", document(r.Trust))
	}
	before := w.m.before.RoleBy(r.Name)
	if c.has("managed") && before != nil {
		w.step("Set the policies that are attached to the role %s.", r.Name)
		for _, arn := range r.ManagedPolicyARNs {
			if !slices.Contains(before.ManagedPolicyARNs, arn) {
				w.aws("iam", "attach-role-policy", "--role-name", r.Name, "--policy-arn", arn)
			}
		}
		for _, arn := range before.ManagedPolicyARNs {
			if !slices.Contains(r.ManagedPolicyARNs, arn) {
				w.detach(r.Name, arn)
			}
		}
	}
	for _, n := range r.Inline {
		if c.has("inline " + n.Name) {
			w.step("Write the policy %s in the role %s.", n.Name, r.Name)
			w.aws("iam", "put-role-policy", "--role-name", r.Name, "--policy-name", n.Name, "--policy-document", document(n.Document))
		}
	}
	for _, a := range c.attrs {
		if name, ok := strings.CutPrefix(a, "drop inline "); ok {
			w.step("Take the policy %s out of the role %s: nothing in it is needed.", name, r.Name)
			fmt.Fprintf(&w.b, "if aws iam get-role-policy --role-name %s --policy-name %s >/dev/null 2>&1; then\n  %s\nfi\n",
				shellescape.Quote(r.Name), shellescape.Quote(name), command("iam", "delete-role-policy", "--role-name", r.Name, "--policy-name", name))
		}
	}
}

func (w *commandWriter) accessEntry(c change) {
	e := &w.m.s.AccessEntries[c.index]
	cluster := w.m.c.Report.Cluster
	flags := []string{"--cluster-name", cluster, "--principal-arn", e.PrincipalARN}
	test := command("eks", "describe-access-entry", flags...) + " >/dev/null 2>&1"
	if c.added {
		w.step("Let nodes with the role %s into the cluster.", e.PrincipalARN)
		w.unless(test, "eks", "create-access-entry", append(slices.Clone(flags), "--type", e.Type)...)
		return
	}
	w.step("Let nodes with the role %s into the cluster. The type of an access entry cannot be changed, so it is made anew.", e.PrincipalARN)
	read := command("eks", "describe-access-entry", append(slices.Clone(flags), "--query", "accessEntry.type", "--output", "text")...)
	fmt.Fprintf(&w.b, "entry=$(%s 2>/dev/null || true)\nif [ -n \"$entry\" ] && [ \"$entry\" != %s ]; then\n  %s\nfi\nif [ \"$entry\" != %[2]s ]; then\n  %[4]s\nfi\n",
		read, e.Type, command("eks", "delete-access-entry", flags...), command("eks", "create-access-entry", append(slices.Clone(flags), "--type", e.Type)...))
}

func (w *commandWriter) podIdentity(c change) {
	a := &w.m.s.PodIdentities[c.index]
	cluster := w.m.c.Report.Cluster
	flags := []string{"--cluster-name", cluster, "--namespace", a.Namespace, "--service-account", a.ServiceAccount}
	w.step("Give the service account %s/%s its role.", a.Namespace, a.ServiceAccount)
	fmt.Fprintf(&w.b, "association=$(%s)\n", command("eks", "list-pod-identity-associations", append(slices.Clone(flags), "--query", "associations[0].associationId", "--output", "text")...))
	fmt.Fprintf(&w.b, "if [ \"$association\" = None ]; then\n  %s\nelse\n  %s --association-id \"$association\"\nfi\n",
		command("eks", "create-pod-identity-association", append(slices.Clone(flags), "--role-arn", a.RoleARN)...),
		command("eks", "update-pod-identity-association", "--cluster-name", cluster, "--role-arn", a.RoleARN))
}

func (w *commandWriter) alarm(c change) {
	a := &w.m.s.Alarms[c.index]
	if !c.added {
		// It can only be written whole, and not all of it is known.
		w.step("The alarm %s has no actions. Give it some where it was made; those wanted are %s.", a.Name, check.List(a.Actions))
		return
	}
	type dimension struct{ Name, Value string }
	var dimensions []dimension
	for name, value := range a.Dimensions {
		dimensions = append(dimensions, dimension{name, value})
	}
	w.step("Watch %s.", a.Metric)
	flags := []string{
		"--alarm-name", a.Name, "--namespace", a.Namespace, "--metric-name", a.Metric, "--dimensions", jsonText(dimensions),
		"--statistic", a.Statistic, "--period", wholeSeconds(a.Period), "--evaluation-periods", strconv.Itoa(max(1, a.Periods)),
		"--threshold", strconv.FormatFloat(a.Threshold, 'f', -1, 64), "--comparison-operator", a.Comparison, "--treat-missing-data", "notBreaching",
	}
	if len(a.Actions) > 0 {
		flags = append(flags, "--alarm-actions", jsonText(a.Actions))
	}
	w.aws("cloudwatch", "put-metric-alarm", flags...)
}
