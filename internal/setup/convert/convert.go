// Package convert turns set-ups of older releases of the API into NodePools and EC2NodeClasses of v1: Provisioners,
// AWSNodeTemplates, Instances, the v1beta1 kinds, the settings that lived in a ConfigMap, launch templates that users made
// themselves, and the annotations and selectors of workloads. Nothing is lost in silence: of every field the report says
// whether it was kept, translated or lost, why, and what there is to decide.
package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// File is one input.
type File struct {
	Name string
	Data []byte
	// Named is set for a file that the user named itself. What is no object in it is an error; in a directory it is not.
	Named bool
}

// Options say what the files don't.
type Options struct {
	// ClusterName is the cluster's name; empty takes it from the settings or from user data.
	ClusterName string
	// Region is where CloudFormation templates are deployed; empty when not known.
	Region string
	// Parameters are values of parameters of CloudFormation templates.
	Parameters map[string]string
	// Templates are launch templates that are known beside those in the files.
	Templates []Template
	// KeepTemplates makes classes that name launch templates in place of translating what is in them.
	KeepTemplates bool
	// OwnedClaims also prints the NodeClaims that a pool made. Applied to a cluster, each launches an instance.
	OwnedClaims bool
}

// Result is what became of the input.
type Result struct {
	// Output is YAML: the converted objects, those of v1 already, and the workloads that changed.
	Output []byte
	Report *Report
}

// Convert converts files. The same input gives the same bytes.
//
// Errors: all that is wrong with the input, each with its file, document, object and field; there is no result then.
func Convert(files []File, o Options) (*Result, error) {
	c := &converter{options: o, report: &Report{}, classes: map[string]*classDraft{}, current: map[string]bool{}, taken: map[string]bool{}}
	var documents []*document
	for _, f := range files {
		documents = append(documents, c.read(f)...)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Parameters)) {
		if !slices.Contains(c.parameters, name) {
			c.errs = append(c.errs, fmt.Errorf("parameter %s: no CloudFormation template of the input has it", name))
		}
	}
	c.templates = append(c.templates, o.Templates...)
	for _, d := range documents {
		c.settings(d)
	}
	c.survey(documents)
	for _, d := range documents {
		c.document(d)
	}
	c.unusedTemplates()
	c.joinPools()
	out := c.write()
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}
	return &Result{Output: out, Report: c.report}, nil
}

type converter struct {
	options   Options
	report    *Report
	global    settings
	templates []Template
	used      []int // indices of templates that a class was made of

	items   []item
	classes map[string]*classDraft // those made here, by name
	current map[string]bool        // EC2NodeClasses of v1 that the input has, by name
	taken   map[string]bool        // names of classes of older releases that the input has
	wanted  []string               // launch templates that the input names

	parameters []string // of all CloudFormation templates
	errs       []error
}

// item is one piece of the output: a draft, or text that is ready.
type item struct {
	class *classDraft
	pool  *poolDraft
	text  []byte
	value any       // an object to write
	doc   *document // where text and value come from
}

func (c *converter) fail(d *document, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %w", d.where(), fmt.Errorf(format, args...)))
}

// kinds are those that are converted, by group, version and kind.
var kinds = map[string]func(*converter, *document){
	"karpenter.sh/v1alpha5/Provisioner":          (*converter).provisioner,
	"karpenter.sh/v1alpha5/Machine":              (*converter).machine,
	"karpenter.k8s.aws/v1alpha1/AWSNodeTemplate": (*converter).nodeTemplate,
	"karpenter.sh/v1beta1/NodePool":              (*converter).nodePool,
	"karpenter.sh/v1beta1/NodeClaim":             (*converter).nodeClaim,
	"karpenter.k8s.aws/v1beta1/EC2NodeClass":     (*converter).nodeClass,
	"karpenter.sh/v1/NodePool":                   (*converter).asItIs,
	"karpenter.sh/v1/NodeClaim":                  (*converter).asItIs,
	"karpenter.sh/v1alpha1/NodeOverlay":          (*converter).asItIs,
	"karpenter.k8s.aws/v1/EC2NodeClass":          (*converter).asItIs,
}

func (c *converter) document(d *document) {
	if convert, ok := kinds[d.version()+"/"+d.kind()]; ok {
		convert(c, d)
		return
	}
	if d.isSettings() {
		return
	}
	switch group := d.group(); group {
	case "karpenter.sh", "karpenter.k8s.aws", "extensions.karpenter.sh":
		c.fail(d, "%s of %s is not known: Provisioner and Instance of v1alpha5, AWSNodeTemplate of v1alpha1 and the kinds of v1beta1 are converted", d.kind(), d.version())
	default:
		c.workload(d)
	}
}

// survey notes what other documents are judged by: the classes of v1 that are there, and the launch templates that are
// named.
func (c *converter) survey(documents []*document) {
	for _, d := range documents {
		switch d.version() + "/" + d.kind() {
		case "karpenter.k8s.aws/v1/EC2NodeClass":
			c.current[d.name()] = true
		case "karpenter.k8s.aws/v1beta1/EC2NodeClass":
			c.taken[d.name()] = true
		case "karpenter.sh/v1alpha5/Provisioner", "karpenter.k8s.aws/v1alpha1/AWSNodeTemplate":
			c.taken[d.name()] = c.taken[d.name()] || d.kind() == "AWSNodeTemplate"
			if name, ok := look(d.root, "spec", "provider", "launchTemplate").(string); ok {
				c.wanted = append(c.wanted, name)
			}
			if name, ok := look(d.root, "spec", "launchTemplate").(string); ok {
				c.wanted = append(c.wanted, name)
			}
		}
	}
}

// look follows members of maps; nil where there is nothing.
func look(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	return v
}

// asItIs passes an object of the current version on.
func (c *converter) asItIs(d *document) {
	r := c.object(d)
	r.Becomes = []string{d.kind() + " " + d.name()}
	r.add(Field{Outcome: Kept, Why: "it is of the current version already and is printed unchanged"})
	c.currentFaults(d, r)
	text := d.text
	if d.item {
		text = render(d.root)
	}
	c.items = append(c.items, item{text: bytes.TrimRight(bytes.TrimPrefix(text, []byte("---\n")), "\n \t"), doc: d})
}

// currentFaults reports what the API server refuses or drops of an object that is passed on.
func (c *converter) currentFaults(d *document, r *ObjectReport) {
	switch d.kind() {
	case "NodePool":
		if below(d.root, "spec", "template", "spec", "kubelet") != nil {
			r.add(Field{Path: "spec.template.spec.kubelet", Outcome: Lost, Why: "v1 has it in the EC2NodeClass, and the API server drops it here",
				Do: "move it to spec.kubelet of the EC2NodeClass"})
		}
	case "EC2NodeClass":
		var class awsv1.EC2NodeClass
		data, err := json.Marshal(d.root)
		if err != nil || json.Unmarshal(data, &class) != nil {
			return // the API server says what is wrong with it
		}
		for _, x := range refusedOf(&class) {
			r.add(Field{Path: x.path, Outcome: Translated, Why: "v1 does not take it: " + x.why, Do: "correct it"})
		}
	}
}

// below is what lies at a path of maps; nil if nothing does.
func below(root any, path ...string) any {
	for _, name := range path {
		m, _ := root.(map[string]any)
		root = m[name]
	}
	return root
}

// object begins the report on a document.
func (c *converter) object(d *document) *ObjectReport {
	r := &ObjectReport{File: d.file, Document: d.number, APIVersion: d.version(), Kind: d.kind(), Name: d.name()}
	c.report.Objects = append(c.report.Objects, r)
	return r
}

// write puts the output together.
func (c *converter) write() []byte {
	var out bytes.Buffer
	seen := map[string]*document{}
	for _, it := range c.items {
		text := it.text
		switch {
		case it.class != nil:
			text = c.finish(it.class.object, it.class.fields)
		case it.pool != nil:
			text = verbatimLimits(c.finish(it.pool.object, it.pool.fields), it.pool.limits)
		case it.value != nil:
			text = render(it.value)
		}
		if key := it.identity(); key != "" {
			if other := seen[key]; other != nil {
				c.fail(it.document(), "%s comes out of the input twice, here and at %s: convert the files one by one, or rename one of the objects", key, other.where())
			}
			seen[key] = it.document()
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		out.Write(bytes.TrimRight(text, "\n"))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// identity is the kind and name of what comes out, for those kinds that must be there once.
func (it item) identity() string {
	switch {
	case it.class != nil:
		return "EC2NodeClass " + it.class.object.Name
	case it.pool != nil:
		return "NodePool " + it.pool.object.Name
	case it.text != nil:
		return it.doc.kind() + " " + it.doc.name()
	}
	return ""
}

func (it item) document() *document {
	switch {
	case it.class != nil:
		return it.class.fields.doc
	case it.pool != nil:
		return it.pool.fields.doc
	}
	return it.doc
}

// clusterName is the name of the cluster, as far as the input tells.
func (c *converter) clusterName(told string) string {
	for _, name := range []string{c.options.ClusterName, c.global.clusterName, told} {
		if name != "" {
			return name
		}
	}
	return ""
}

// freeName is a name that no class of the input has.
func (c *converter) freeName(name string) string {
	for free := name; ; free += "-converted" {
		if c.classes[free] == nil && !c.current[free] && !c.taken[free] {
			return free
		}
	}
}

func (c *converter) isWanted(name string) bool { return slices.Contains(c.wanted, name) }
