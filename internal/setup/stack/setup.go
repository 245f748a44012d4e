package stack

import (
	"slices"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
	"github.com/kerf-sh/kerf/internal/awsmodel/partition"
)

// What is not known yet has placeholders of the right length, so that policies are measured rightly.
const (
	placeholderAccount = "000000000000"
	placeholderKey     = "00000000-0000-0000-0000-000000000000"
	placeholderRoleID  = "AROA00000000000000000"
)

// resolver gives references their values in an account and region.
type resolver struct{ values map[string]string }

func (s *Stack) resolverFor(region string) *resolver {
	account := s.Options.AccountID
	if account == "" {
		account = placeholderAccount
	}
	return s.resolver(account, region)
}

func (s *Stack) resolver(account, region string) *resolver {
	p := partition.Of(region)
	v := map[string]string{
		"ClusterName": s.Options.ClusterName, "AWS::Partition": p.Name, "AWS::Region": region, "AWS::AccountId": account, "AWS::URLSuffix": p.Suffix, idEC2: p.EC2Service(),
	}
	r := &resolver{values: v}
	iam := "arn:" + p.Name + ":iam::" + account + ":"
	at := func(service string) string {
		return "arn:" + p.Name + ":" + service + ":" + region + ":" + account + ":"
	}
	role := func(x *Role) {
		v[x.LogicalID] = r.text(x.Name)
		v[x.LogicalID+".Arn"] = iam + "role" + x.Path + r.text(x.Name)
		v[x.LogicalID+".RoleId"] = placeholderRoleID
	}
	queue := func(q *Queue) {
		name := r.text(q.Name)
		v[q.LogicalID] = "https://sqs." + region + "." + p.Suffix + "/" + account + "/" + name
		v[q.LogicalID+".QueueName"] = name
		v[q.LogicalID+".Arn"] = at("sqs") + name
	}
	if s.NodeRole != nil {
		role(s.NodeRole)
	} else {
		v[idNodeRole], v[idNodeRole+".Arn"] = s.Options.nodeRoleName(), r.text(s.Options.NodeRole)
	}
	if s.ControllerRole != nil {
		role(s.ControllerRole)
	}
	if s.AccessEntryType != "" {
		v[idAccessEntry+".AccessEntryArn"] = at("eks") + "access-entry/" + v["ClusterName"] + "/role/" + account + "/" + r.text(s.Options.nodeRoleName()) + "/" + placeholderKey
	}
	if arn := s.Options.QueueARN; arn != "" {
		m := queueARN.FindStringSubmatch(arn)
		v[idQueue], v[idQueue+".QueueName"], v[idQueue+".Arn"] = s.Options.queueURL(), m[4], arn
	} else {
		queue(&s.Queue)
	}
	if s.DeadLetter != nil {
		queue(s.DeadLetter)
	}
	for _, x := range s.Policies {
		v[x.LogicalID] = iam + "policy" + x.Path + r.text(x.Name)
	}
	for _, x := range s.Rules {
		v[x.LogicalID] = x.LogicalID
		v[x.LogicalID+".Arn"] = at("events") + "rule/" + x.LogicalID
	}
	if s.Key != nil {
		v[s.Key.LogicalID] = placeholderKey
		v[s.Key.LogicalID+".Arn"] = at("kms") + "key/" + placeholderKey
	}
	return r
}

func (r *resolver) text(s string) string {
	return replaceReferences(s, func(name string) string {
		if v, ok := r.values[name]; ok {
			return v
		}
		return "${" + name + "}"
	})
}

func (r *resolver) texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = r.text(out[i])
	}
	return out
}

// document is a copy with all references resolved.
func (r *resolver) document(d *iampolicy.Document) *iampolicy.Document {
	if d == nil {
		return nil
	}
	out := *d
	out.ID = r.text(d.ID)
	out.Statements = slices.Clone(d.Statements)
	for i := range out.Statements {
		st := &out.Statements[i]
		st.Actions, st.Resources = r.texts(st.Actions), r.texts(st.Resources)
		st.Conditions = slices.Clone(st.Conditions)
		for k := range st.Conditions {
			st.Conditions[k].Key, st.Conditions[k].Values = r.text(st.Conditions[k].Key), r.texts(st.Conditions[k].Values)
		}
		if p := st.Principal; p != nil {
			st.Principal = &iampolicy.Principals{Any: p.Any, AWS: r.texts(p.AWS), Service: r.texts(p.Service), Federated: r.texts(p.Federated)}
		}
	}
	return &out
}

func (r *resolver) tags(list []Tag) map[string]string {
	out := map[string]string{}
	for _, t := range list {
		out[t.Key] = r.text(t.Value)
	}
	return out
}

// Setup is the stack as it is once deployed to an account and region. What AWS makes up on deployment has something in
// its place: names of rules have their logical ID, the id of the key has zeros.
func (s *Stack) Setup(account, region string) *awssetup.Setup {
	r := s.resolver(account, region)
	out := &awssetup.Setup{
		Source: "kerf stack", Partition: partition.Of(region).Name, Region: region, AccountID: account, ClusterName: s.Options.ClusterName,
	}
	if s.Options.QueueARN == "" {
		out.Queues = append(out.Queues, s.setupQueue(r, &s.Queue))
	}
	if s.NodeRole != nil {
		out.Roles = append(out.Roles, s.setupRole(r, s.NodeRole))
	}
	for _, p := range s.Policies {
		d := r.document(p.Document)
		x := awssetup.Policy{LogicalID: p.LogicalID, Name: r.text(p.Name), ARN: r.text("${" + p.LogicalID + "}"), Document: d, Characters: iampolicy.Size(d.JSON())}
		if s.ControllerRole != nil {
			x.AttachedTo = []string{r.text(s.ControllerRole.Name)}
		}
		out.Policies = append(out.Policies, x)
	}
	if s.ControllerRole != nil {
		out.Roles = append(out.Roles, s.setupRole(r, s.ControllerRole))
	}
	if s.DeadLetter != nil {
		out.Queues = append(out.Queues, s.setupQueue(r, s.DeadLetter))
	}
	if k := s.Key; k != nil {
		out.Keys = []awssetup.Key{{
			LogicalID: k.LogicalID, ID: r.text("${" + k.LogicalID + "}"), ARN: r.text(arnOf(k.LogicalID)), Aliases: []string{r.text(k.Alias)},
			Manager: "CUSTOMER", Enabled: true, Rotation: true, Policy: r.document(k.Policy),
		}}
	}
	s.setupEvents(r, out)
	if s.AccessEntryType != "" {
		out.AccessEntries = []awssetup.AccessEntry{{LogicalID: idAccessEntry, PrincipalARN: r.text(arnOf(idNodeRole)), Type: s.AccessEntryType}}
	}
	if s.PodIdentity {
		out.PodIdentities = []awssetup.PodIdentity{{
			LogicalID: idPodIdentity, Namespace: s.Options.Namespace, ServiceAccount: s.Options.ServiceAccount, RoleARN: r.text(arnOf(idControllerRole)),
		}}
	}
	return out
}

func (s *Stack) setupRole(r *resolver, x *Role) awssetup.Role {
	return awssetup.Role{
		LogicalID: x.LogicalID, Name: r.text(x.Name), Path: x.Path, ARN: r.text(arnOf(x.LogicalID)), Trust: r.document(x.Trust),
		ManagedPolicyARNs: r.texts(x.ManagedPolicies), Boundary: x.Boundary, Tags: r.tags(x.Tags),
	}
}

func (s *Stack) setupQueue(r *resolver, q *Queue) awssetup.Queue {
	out := awssetup.Queue{
		LogicalID: q.LogicalID, Name: r.text(q.Name), ARN: r.text(arnOf(q.LogicalID)), URL: r.text("${" + q.LogicalID + "}"),
		Retention: q.Retention, Visibility: q.Visibility, ManagedSSE: q.KMSKey == "", KMSKey: r.text(q.KMSKey), Policy: r.document(q.Policy),
		DeadLetter: r.text(q.DeadLetter), MaxReceives: q.MaxReceives, Tags: r.tags(q.Tags),
	}
	if out.Visibility == 0 {
		out.Visibility = defaultVisibility
	}
	return out
}

func (s *Stack) setupEvents(r *resolver, out *awssetup.Setup) {
	for _, x := range s.Rules {
		out.Rules = append(out.Rules, awssetup.Rule{
			LogicalID: x.LogicalID, Name: r.text("${" + x.LogicalID + "}"), ARN: r.text(arnOf(x.LogicalID)), Pattern: x.Pattern(), Enabled: true,
			Targets: []awssetup.Target{{ID: targetID, ARN: r.text(arnOf(idQueue)), DeadLetter: r.text(x.DeadLetter)}},
		})
	}
	for _, x := range s.Alarms {
		out.Alarms = append(out.Alarms, awssetup.Alarm{
			LogicalID: x.LogicalID, Name: r.text(x.Name), Namespace: x.Namespace, Metric: x.Metric, Dimensions: map[string]string{x.Dimension: r.text(x.Value)},
			Statistic: x.Statistic, Comparison: "GreaterThanThreshold", Threshold: float64(x.Threshold), Period: x.Period, Periods: x.Periods, Actions: r.texts(x.Actions),
		})
	}
}
