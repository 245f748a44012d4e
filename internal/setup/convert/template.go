package convert

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/awsmodel/cfn"
)

// Template is one version of a launch template that users made themselves.
type Template struct {
	Name string
	ID   string // lt-…; empty when not known
	// Version is the one that was asked for: a number, $Latest or $Default; empty where none was, which is $Latest.
	Version string
	// Latest and Default are the numbers of two versions, where they are known; the data is that of Latest where no
	// version was asked for.
	Latest, Default int64
	// Origin says where it comes from, for the report: a file, or an account.
	Origin string
	// Data is what the version holds, by the names of the EC2 API, with user data in plain text. Values that are known only
	// at the deployment of a CloudFormation template are cfn.Unknown.
	Data map[string]any
	// stored names the SSM parameters behind parameters of a CloudFormation template.
	stored map[string]string
	// tags are those that the CloudFormation file gives the template itself; values that are known only at deployment are
	// as they are written there.
	tags map[string]string
	// fromFile is set for a template that a CloudFormation file defines: its tags are known.
	fromFile bool
	// role is the role of its instance profile, where the CloudFormation file defines the profile, too.
	role role
}

// version is the version that a class of it names.
func (t *Template) version() string {
	if t == nil || t.Version == "" {
		return awsv1.LaunchTemplateLatest
	}
	return t.Version
}

// otherDefault says that the latest version, which was read, is not the one that EC2 calls the default.
func (f *fields) otherDefault(t *Template) {
	if t.Version != "" || t.Latest == t.Default {
		return
	}
	f.decide("version (not named)", fmt.Sprintf("version %d, the latest", t.Latest),
		fmt.Sprintf("older releases launched from the latest version; version %d is the default of EC2", t.Default),
		fmt.Sprintf("see that version %d is what instances are to be like; --launch-template '%s:$Default' reads version %d", t.Latest, t.Name, t.Default))
}

// userData is the template's user data, as far as it is known.
func (t *Template) userData() string { return textOf(t.Data["UserData"]) }

// textOf is a value as text; what is known only at deployment is as it is written.
func textOf(v any) string {
	if u, unknown := v.(cfn.Unknown); unknown {
		return u.Text
	}
	text, _ := scalar(v)
	return text
}

const launchTemplateType = "AWS::EC2::LaunchTemplate"

// cloudFormation finds the launch templates of a CloudFormation template, which is the document of that number in its file.
func (c *converter) cloudFormation(file File, number int) {
	where := &document{file: file.Name, number: number, kindOf: "CloudFormation template"}
	complain := func(err error) {
		if file.Named || bytes.Contains(file.Data, []byte(launchTemplateType)) {
			c.fail(where, "%w", err)
			return
		}
		c.report.Notes = append(c.report.Notes, file.Name+": left out: "+oneLine(err))
	}
	t, err := cfn.Parse(file.Data)
	if err != nil {
		complain(err)
		return
	}
	given := map[string]string{}
	stored := map[string]string{}
	for _, p := range t.Parameters {
		c.parameters = append(c.parameters, p.Name)
		value, ok := c.options.Parameters[p.Name]
		if ok {
			given[p.Name] = value
		} else if p.Default != nil {
			value, ok = *p.Default, true
		}
		if ok && p.FromStore() {
			stored[p.Name] = value
		}
	}
	s, err := t.Static(cfn.Pseudo{Region: c.options.Region}, given)
	if err != nil {
		complain(err)
		return
	}
	found, others := 0, 0
	for _, r := range s.Resources {
		if r.Type != launchTemplateType {
			others++
			continue
		}
		found++
		data, ok := r.Values["LaunchTemplateData"].(map[string]any)
		if !ok {
			c.fail(where, "Resources.%s.Properties.LaunchTemplateData: want a map, not %s", r.ID, describe(r.Values["LaunchTemplateData"]))
			continue
		}
		name, ok := scalar(r.Values["LaunchTemplateName"])
		if !ok || name == "" {
			name = r.ID
		}
		if r.Maybe {
			c.report.Notes = append(c.report.Notes, fmt.Sprintf("%s: launch template %s is converted though its condition %s can't be known", file.Name, name, r.Condition))
		}
		decodeUserData(data)
		c.templates = append(c.templates, Template{
			Name: name, Origin: file.Name, Data: data, stored: stored, fromFile: true,
			tags: ownTagsOf(r.Values), role: roleOf(s.Resources, profileOf(data)),
		})
	}
	switch {
	case found == 0:
		complain(errors.New("it defines no " + launchTemplateType))
	case others > 0:
		c.report.Notes = append(c.report.Notes, fmt.Sprintf("%s: other resources (%d) stay with their stack, and are not converted", file.Name, others))
	}
}

// decodeUserData puts user data in plain text in place of base64.
func decodeUserData(data map[string]any) {
	decode := func(text string) string {
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
			return string(plain)
		}
		return text
	}
	switch v := data["UserData"].(type) {
	case string:
		data["UserData"] = decode(v)
	case cfn.Unknown:
		data["UserData"] = cfn.Unknown{Text: decode(v.Text), Why: v.Why}
	}
}

// template finds a launch template by name or ID.
func (c *converter) template(name string) int {
	return slices.IndexFunc(c.templates, func(t Template) bool { return t.Name == name || t.ID != "" && t.ID == name })
}

// fromNamedTemplate makes a class of the launch template that an old object names.
func (c *converter) fromNamedTemplate(f *fields, class *classDraft) {
	name, _ := f.text("launchTemplate")
	at := f.at("launchTemplate")
	i := c.template(name)
	guessed := i < 0 && len(c.templates) == 1 && !c.isWanted(c.templates[0].Name)
	if guessed {
		i = 0
	}
	if c.options.KeepTemplates {
		c.keepNamedTemplate(f, class, at, name, i)
		return
	}
	switch {
	case guessed:
		f.decide(at, "EC2NodeClass "+class.object.Name, c.guess(name), c.seeGuess())
	case i >= 0:
		f.translated(at, "EC2NodeClass "+class.object.Name, "what the template held is in the class, field by field; see below")
	}
	if i >= 0 {
		c.used = append(c.used, i)
		c.fromTemplate(&c.templates[i], class)
	} else {
		c.unknownTemplate(f, at, name, class)
	}
	spec := &class.object.Spec
	if profile, ok := f.text("instanceProfile"); ok {
		if spec.InstanceProfile == nil {
			spec.InstanceProfile = &profile
			f.report.add(Field{Path: f.at("instanceProfile"), Outcome: Kept, To: "spec.instanceProfile", Do: c.passedRole(profile)})
		} else {
			f.lost(f.at("instanceProfile"), "the launch template names one, "+*spec.InstanceProfile+", and decided", "")
		}
	} else if spec.InstanceProfile == nil {
		c.oldProfile(f, spec)
	}
	for _, name := range []string{"amiFamily", "amiSelector", "userData", "blockDeviceMappings", "metadataOptions", "detailedMonitoring"} {
		if _, ok := f.take(name); ok {
			f.lost(f.at(name), "the launch template decided, and the two were refused together", "")
		}
	}
}

// guess says that the only template of the input is taken for one that an object names and that is not there.
func (c *converter) guess(name string) string {
	return "no launch template " + name + " is in the input; the only one that is, " + c.templates[0].Name + ", is taken for it"
}

func (c *converter) seeGuess() string {
	return "see that " + c.templates[0].Name + " is the one that was meant"
}

// unknownTemplate stands in for a launch template that is not in the input.
func (c *converter) unknownTemplate(f *fields, at, name string, class *classDraft) {
	spec := &class.object.Spec
	f.lost(at, "launch template "+name+" is not in the input", "convert again with --launch-template "+name+" --region REGION, or with the CloudFormation file that defines it")
	f.placeholderImage(at, "the image is that of launch template "+name, spec)
	spec.AMIFamily = new(awsv1.AMIFamilyCustom)
}

// unusedTemplates makes classes of the launch templates that no object named.
func (c *converter) unusedTemplates() {
	for i := range c.templates {
		if slices.Contains(c.used, i) {
			continue
		}
		t := &c.templates[i]
		class := newClass(c.freeName(objectName(t.Name)))
		if c.options.KeepTemplates {
			c.keepTemplate(t, class)
			continue
		}
		f := c.fromTemplate(t, class)
		f.report.Becomes = []string{"EC2NodeClass " + class.object.Name}
		spec := &class.object.Spec
		class.fields = f
		if spec.InstanceProfile == nil {
			c.oldProfile(f, spec)
		}
		c.oldSubnets(f, class)
		c.oldTags(&fields{c: c, doc: f.doc, root: map[string]any{}, report: f.report}, spec)
		c.addClass(class)
	}
}

var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// objectName makes a name that an object may have.
func objectName(name string) string {
	out := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-.")
	if len(out) > 253 {
		out = out[:253]
	}
	if out == "" {
		return "launch-template"
	}
	return out
}

// clone copies a tree of values, so that taking fields away leaves the original as it is.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k := range out {
			out[k] = clone(out[k])
		}
		return out
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = clone(out[i])
		}
		return out
	}
	return v
}
