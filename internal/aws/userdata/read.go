package userdata

import (
	"encoding/base64"
	"strings"

	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
)

// Fate is what becomes of one setting of user data that is read.
type Fate int

// Fates of settings.
const (
	// Moved settings have a field in the API.
	Moved Fate = iota
	// Generated settings are written by Build itself, from what the controller knows of the cluster.
	Generated
	// Dropped settings have no place any more.
	Dropped
)

// Setting is one setting that user data makes.
type Setting struct {
	Name string // as the user data spells it: --max-pods, settings.kubernetes.max-pods
	Fate Fate
	To   string // for Moved: the field of the EC2NodeClass, or of the NodePool, that holds it
	Why  string
	Do   string // what to do about it; empty when there is nothing to decide
}

// Found is what user data that somebody else wrote says, taken apart.
type Found struct {
	// Family boots an instance to the same effect from Rest and the fields below; Custom when only the whole text does.
	Family awsv1.AMIFamily
	// Why tells why the family is Custom.
	Why string

	ClusterName   string // empty when it is not said, or computed at boot
	Kubelet       awsv1.KubeletConfiguration
	Labels        map[string]string
	Taints        []corev1.Taint
	InstanceStore *awsv1.InstanceStorePolicy
	// Folded is set for a script whose lines YAML joined to one: as it stands, nothing of it runs.
	Folded bool
	// Rest is what stays for spec.userData: the text without what Build writes.
	Rest     string
	Settings []Setting
}

// Read takes user data apart: which family of images boots from it, and what it tells the kubelet. It runs nothing; what
// it can't be sure of makes the family Custom, with all of the text as Rest.
func Read(text string) *Found {
	text = strings.ReplaceAll(text, "\r", "")
	var f *Found
	var why string
	switch {
	case strings.TrimSpace(text) == "":
		why = "there is no user data: the image joins the cluster by itself"
	case isMIME(text):
		f, why = readMIME(text)
	case isNodeConfig(text):
		f, why = readNodeConfig(text)
	case strings.Contains(strings.ToLower(text), "<powershell>"):
		why = "it is a PowerShell script, which is not taken apart"
	case strings.HasPrefix(text, "#!"), strings.Contains(text, bootstrapScript):
		f, why = readScript(text)
	default:
		f, why = readBottlerocket(text)
	}
	if f == nil {
		return &Found{Family: awsv1.AMIFamilyCustom, Why: why, Rest: text}
	}
	return f
}

func (f *Found) add(s Setting) { f.Settings = append(f.Settings, s) }

// moved notes a setting that has a field.
func (f *Found) moved(name, to string) { f.add(Setting{Name: name, Fate: Moved, To: to}) }

// generated notes a setting that Build writes.
func (f *Found) generated(name, why string) { f.add(Setting{Name: name, Fate: Generated, Why: why}) }

func (f *Found) dropped(name, why, do string) {
	f.add(Setting{Name: name, Fate: Dropped, Why: why, Do: do})
}

func (f *Found) label(key, value string) {
	if f.Labels == nil {
		f.Labels = map[string]string{}
	}
	f.Labels[key] = value
}

// readMIME reads a document of several parts. One part joins the instance to its cluster; the others stay.
func readMIME(text string) (found *Found, why string) {
	parts, err := parseMIME(text)
	if err != nil {
		return nil, err.Error()
	}
	var rest []part
	why = "no part of it joins the instance to a cluster in a way that is known"
	for _, p := range parts {
		body := p.text()
		var f *Found
		var no string
		switch kind := p.header.Get("Content-Type"); {
		case strings.HasPrefix(kind, typeNodeConfig):
			f, no = readNodeConfig(body)
		case strings.HasPrefix(kind, "text/x-shellscript") && strings.Contains(body, bootstrapScript):
			f, no = readScript(body)
		default:
			rest = append(rest, p)
			continue
		}
		if f == nil {
			return nil, no
		}
		if found != nil {
			return nil, "more than one part of it joins the instance to a cluster"
		}
		found = f
		if f.Rest != "" {
			rest = append(rest, newPart(p.header.Get("Content-Type"), f.Rest))
		}
	}
	if found == nil {
		return nil, why
	}
	found.Rest = ""
	if len(rest) > 0 {
		found.Rest = formatMIME(rest)
	}
	return found, ""
}

// text is the body of a part without its transfer encoding.
func (p part) text() string {
	if strings.EqualFold(p.header.Get("Content-Transfer-Encoding"), "base64") {
		if plain, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(p.body), "")); err == nil {
			return string(plain)
		}
	}
	return p.body
}
