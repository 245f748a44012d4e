package setupfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
	"github.com/kerf-sh/kerf/internal/awsmodel/iampolicy"
)

// readPlan turns a plan into what will be set up once it is applied.
func readPlan(data []byte, o ReadOptions) (*awssetup.Setup, error) {
	p, err := parsePlan(data)
	if err != nil {
		return nil, err
	}
	where := p.where(o).written(data, o.Given)
	r := &planReader{
		resolver: resolver{p: p, where: where},
		setup: &awssetup.Setup{
			Source: o.Source, Partition: where.Partition, Region: where.Region, AccountID: where.Account, ClusterName: o.ClusterName,
		},
	}
	// Policies and attachments name roles and queues; so these come first.
	for _, pass := range []map[string]func(*planned){r.things(), r.attachments()} {
		for _, c := range p.all {
			if read := pass[c.Type]; read != nil && c.Mode == "managed" {
				read(c)
			}
		}
	}
	r.finish()
	return r.setup, nil
}

type planReader struct {
	resolver
	setup *awssetup.Setup
}

func (r *planReader) things() map[string]func(*planned) {
	return map[string]func(*planned){
		"aws_iam_role":                     r.role,
		"aws_iam_policy":                   r.policy,
		"aws_sqs_queue":                    r.queue,
		"aws_kms_key":                      r.key,
		"aws_cloudwatch_event_rule":        r.rule,
		"aws_cloudwatch_metric_alarm":      r.alarm,
		"aws_eks_access_entry":             r.accessEntry,
		"aws_eks_pod_identity_association": r.podIdentity,
	}
}

func (r *planReader) attachments() map[string]func(*planned) {
	return map[string]func(*planned){
		"aws_iam_role_policy":            r.inline,
		"aws_iam_role_policy_attachment": r.attachment,
		"aws_iam_policy_attachment":      r.attachment,
		"aws_iam_role_policy_attachments_exclusive": func(c *planned) {
			for _, arn := range r.list(c, "policy_arns") {
				r.attach(r.text(c, "role_name"), arn)
			}
		},
		"aws_sqs_queue_policy":         r.queuePolicy,
		"aws_sqs_queue_redrive_policy": r.redrive,
		"aws_kms_key_policy":           r.keyPolicy,
		"aws_kms_alias":                r.alias,
		"aws_cloudwatch_event_target":  r.target,
	}
}

func (r *planReader) gap(what, why string) {
	g := awssetup.Gap{What: what, Why: why}
	if !slices.Contains(r.setup.Gaps, g) {
		r.setup.Gaps = append(r.setup.Gaps, g)
	}
}

// text is an attribute as text, empty if it has none or cannot be told.
func (r *planReader) text(c *planned, attr string) string {
	if attr == "name" {
		return r.name(c)
	}
	v, _ := r.values(c, attr)
	if len(v) == 0 {
		return ""
	}
	switch v := v[0].(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v[0])
}

func (r *planReader) list(c *planned, attr string) []string {
	v, _ := r.values(c, attr)
	return texts(v)
}

func (r *planReader) flag(c *planned, attr string) bool { return r.text(c, attr) == "true" }

// number is an attribute as a number, or what AWS takes when there is none.
func (r *planReader) number(c *planned, attr string, otherwise float64) float64 {
	f, err := strconv.ParseFloat(r.text(c, attr), 64)
	if err != nil {
		return otherwise
	}
	return f
}

func (r *planReader) seconds(c *planned, attr string, otherwise time.Duration) time.Duration {
	return time.Duration(r.number(c, attr, otherwise.Seconds()) * float64(time.Second))
}

func tagsOf(c *planned) map[string]string {
	out := map[string]string{}
	for _, attr := range []string{"tags_all", "tags"} {
		m, _ := c.Values[attr].(map[string]any)
		for k, v := range m {
			if s, ok := v.(string); ok {
				out[k] = s
			}
		}
	}
	return out
}

// policyText is an attribute that holds a policy. What cannot be told becomes a gap called what.
func (r *planReader) policyText(c *planned, attr, what string) *iampolicy.Document {
	known, present := c.Values[attr]
	asked := c.conf != nil && c.conf.Expressions[attr] != nil
	if (present && (known == nil || known == "")) && !asked || !present && !asked {
		return nil
	}
	v, ok := r.values(c, attr)
	text := ""
	if ok && len(v) == 1 {
		text, _ = v[0].(string)
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		r.gap(what, r.whyUnknown(c, attr)) // at most, a value that goes into it is known
		return nil
	}
	d, err := iampolicy.Parse([]byte(text))
	if err != nil {
		r.gap(what, fmt.Sprintf("%s: %v", c.Address, err))
		return nil
	}
	return d
}

// whyUnknown says why an attribute cannot be told, and what can be done.
func (r *planReader) whyUnknown(c *planned, attr string) string {
	var e expression
	if c.conf != nil {
		_ = json.Unmarshal(c.conf.Expressions[attr], &e)
	}
	for _, ref := range deepest(e.References) {
		steps := splitReference(ref)
		if len(steps) > 2 && steps[0].name == "data" && steps[1].name == "aws_iam_policy_document" {
			for _, d := range c.scope.resources {
				if d.Mode == "data" && d.Type == steps[1].name && d.Name == steps[2].name {
					if _, missing := r.document(d); missing != "" {
						return fmt.Sprintf("%s: %s cannot be told, and so not judged, until the plan is applied", d.Address, missing)
					}
				}
			}
		}
	}
	from := "values that do not exist yet"
	if refs := deepest(e.References); len(refs) > 0 {
		from = strings.Join(refs, ", ")
	}
	return fmt.Sprintf("%s of %s is put together from %s, and the plan does not say how: it is not judged until the plan is applied; then check a new plan, or with --live", attr, c.Address, from)
}

// where finds out partition, region and account from what the plan has of them.
func (p *plan) where(o ReadOptions) Place {
	w := Place{Partition: o.Partition, Region: o.Region, Account: o.AccountID}
	for _, c := range p.all {
		if c.Mode != "data" {
			continue
		}
		text := func(attr string) string { s, _ := c.Values[attr].(string); return s }
		switch c.Type {
		case "aws_caller_identity":
			w.Account = cmp.Or(w.Account, text("account_id"))
		case "aws_region":
			w.Region = cmp.Or(w.Region, text("region"), text("name"), text("id"))
		case "aws_partition":
			w.Partition = cmp.Or(w.Partition, text("partition"))
		}
	}
	if w.Region == "" {
		w.Region = p.providerRegion(w)
	}
	for _, c := range p.all {
		if c.Type != "aws_sqs_queue" && c.Type != "aws_cloudwatch_event_rule" {
			continue // their ARNs have all three
		}
		if arn, ok := c.Values["arn"].(string); ok {
			if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
				w.Region, w.Account = cmp.Or(w.Region, parts[3]), cmp.Or(w.Account, parts[4])
			}
		}
	}
	return w
}

func (p *plan) providerRegion(w Place) string {
	for _, name := range slices.Sorted(maps.Keys(p.file.Configuration.ProviderConfig)) {
		c := p.file.Configuration.ProviderConfig[name]
		if c.Name != "aws" && name != "aws" {
			continue
		}
		r := resolver{p: p, where: w}
		if v, ok := r.expr(c.Expressions["region"], p.root, nil); ok && len(v) == 1 {
			return fmt.Sprint(v[0])
		}
	}
	return ""
}
