// Package image finds the instance images that a node class selects and says which instance types can boot them.
//
// An alias stands for the variants of a family (architectures, with and without accelerators), each behind a public SSM
// parameter; other terms name images, or filters on them, directly. What can't be read now is taken from what was read last,
// and only if there is no such thing is the outcome unknown: a throttled parameter must never look like a changed image.
package image

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/state/cloud"
)

// ImagesAPI is what Resolver needs of EC2.
type ImagesAPI interface {
	DescribeImages(context.Context, *ec2.DescribeImagesInput, ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
}

// ParametersAPI is what Resolver needs of SSM.
type ParametersAPI interface {
	GetParameter(context.Context, *ssm.GetParameterInput, ...func(*ssm.Options)) (*ssm.GetParameterOutput, error)
}

// Resolver finds images. All methods may be called from many goroutines.
type Resolver struct {
	images     ImagesAPI
	parameters ParametersAPI
	refresh    time.Duration
	now        func() time.Time

	kept func(parameter string, err error)

	flights singleflight.Group

	mu     sync.Mutex // guards the caches; never held over a call
	values map[string]parameter
	found  map[string]answer
	told   map[string]bool // parameters that kept was called for
	disks  map[string]Disks
}

// NewResolver returns a Resolver. refresh is how long an answer on images is believed (AMI_REFRESH_INTERVAL); now is the
// clock, nil for time.Now.
func NewResolver(images ImagesAPI, parameters ParametersAPI, refresh time.Duration, now func() time.Time) *Resolver {
	if now == nil {
		now = time.Now
	}
	return &Resolver{
		images: images, parameters: parameters, refresh: refresh, now: now, kept: func(string, error) {},
		values: map[string]parameter{}, found: map[string]answer{}, told: map[string]bool{}, disks: map[string]Disks{},
	}
}

// Kept sets who is told of parameters that can't be read while the image that they named before stays: of each once,
// until it can be read again. It is to be called before anything else, and f must not block.
func (r *Resolver) Kept(f func(parameter string, err error)) *Resolver {
	r.kept = f
	return r
}

func (r *Resolver) keep(parameter string, err error) {
	r.mu.Lock()
	told := r.told[parameter]
	r.told[parameter] = true
	r.mu.Unlock()
	if !told {
		r.kept(parameter, err)
	}
}

// candidate is an image with what a type must meet to boot it.
type candidate struct {
	id, name     string
	created      time.Time
	deprecated   bool
	requirements []corev1.NodeSelectorRequirement
}

// Resolve finds the images of a class on a cluster of a Kubernetes minor version ("1.35"), in the order that the status
// wants: newest first. The finding is on AMIsReady. When it is unknown, the images returned are the best that is known. When
// it is fine but has a message, what the message names could not be looked up, and its images stay as they were; types for
// which there never was an image are not offered until there is one.
func (r *Resolver) Resolve(ctx context.Context, class *awsv1.EC2NodeClass, version string) ([]awsv1.AMI, cloud.Finding) {
	alias, err := class.Alias()
	if err != nil {
		return nil, no(awsv1.ReasonSpecInvalid, err.Error())
	}
	var found outcome
	if alias != nil {
		variants, err := variantsOf(*alias, version)
		if err != nil {
			return nil, no(awsv1.ReasonUnsupportedAlias, fmt.Sprintf("EC2NodeClass %s: spec.amiSelectorTerms: %v", class.Name, err))
		}
		found, err = r.byAlias(ctx, *alias, variants, version, class.Status.AMIs)
		if err != nil {
			return class.Status.AMIs, unknown(fmt.Sprintf("looking up the images of alias %s: %v; the images found before stay", class.Spec.AMISelectorTerms[0].Alias, err))
		}
	} else {
		found, err = r.byTerms(ctx, class)
		if err != nil {
			return class.Status.AMIs, unknown(fmt.Sprintf("looking up the images of spec.amiSelectorTerms: %v; the images found before stay", err))
		}
	}
	amis := status(found.candidates)
	switch {
	case len(amis) == 0 && len(found.unknown) > 0:
		return nil, unknown("it is not known which images there are; trying again: " + strings.Join(found.unknown, "; "))
	case len(amis) == 0:
		return nil, no(awsv1.ReasonAMINotFound, notFound(class, alias, version))
	}
	f := cloud.Finding{Condition: awsv1.ConditionTypeAMIsReady, OK: true}
	if len(found.unknown) > 0 {
		f.Reason = awsv1.ReasonAMIsPartlyKnown
		found.ignored = append(found.unknown, found.ignored...)
	}
	f.Message = strings.Join(found.ignored, "; ")
	return amis, f
}

// outcome is what a search for images came to.
type outcome struct {
	candidates []candidate
	// unknown says what could not be looked up and what counts in its place; ignored what of the terms has no effect.
	unknown, ignored []string
}

func notFound(class *awsv1.EC2NodeClass, alias *awsv1.Alias, version string) string {
	if alias != nil {
		return fmt.Sprintf("EC2NodeClass %s: there is no image of %s for Kubernetes %s; check the version in spec.amiSelectorTerms", class.Name, class.Spec.AMISelectorTerms[0].Alias, version)
	}
	return fmt.Sprintf("EC2NodeClass %s: spec.amiSelectorTerms selects no available x86_64 or arm64 image in this region; check ids, names, owners and tags", class.Name)
}

func no(reason, message string) cloud.Finding {
	return cloud.Finding{Condition: awsv1.ConditionTypeAMIsReady, Reason: reason, Message: message}
}

func unknown(message string) cloud.Finding {
	return cloud.Finding{Condition: awsv1.ConditionTypeAMIsReady, Unknown: true, Reason: "AMIResolutionFailed", Message: message}
}

// byAlias finds the image of each variant. A variant whose parameter can't be read, or names an image that can't be seen,
// keeps the image that the class had for it; one that never had any is not known.
func (r *Resolver) byAlias(ctx context.Context, alias awsv1.Alias, variants []variant, version string, before []awsv1.AMI) (outcome, error) {
	var out outcome
	read := r.readAll(ctx, variants)
	var ask []string
	for i := range variants {
		// What the class has is asked for too, for the case that the parameter names an image that does not exist (yet).
		for _, id := range []string{read[i].id, idWith(before, alias, variants[i].requirements)} {
			if id != "" {
				ask = append(ask, id)
			}
		}
	}
	byID := map[string]candidate{}
	if len(ask) > 0 {
		slices.Sort(ask)
		images, stale, err := r.describe(ctx, query{ids: slices.Compact(ask)})
		if err != nil {
			return out, err
		}
		if stale != nil {
			out.unknown = append(out.unknown, fmt.Sprintf("%v, so what was known of images counts", stale))
		}
		for _, c := range images {
			byID[c.id] = c
		}
	}
	told := map[string]bool{}
	for i, v := range variants {
		was := idWith(before, alias, v.requirements)
		c, ok := byID[read[i].id]
		why := ""
		switch {
		case read[i].err != nil:
			why = read[i].err.Error()
		case ok:
		case read[i].id != "":
			why = fmt.Sprintf("parameter %s names image %s, which can't be seen", v.path, read[i].id)
			r.forget(v.path)
		case was != "" && (v.moves || ofVersion(byID[was].name, version)):
			// A pinned version that was never published for the cluster's is no loss but a mistake, and is said to be one.
			why = fmt.Sprintf("parameter %s does not exist", v.path)
		}
		if ok && c.deprecated && v.moves {
			r.forget(v.path) // its successor may be published already
		}
		if why != "" && !ok {
			if c, ok = byID[was]; ok {
				if read[i].err != nil {
					r.keep(v.path, read[i].err)
				}
				why += ", image " + was + " stays"
			}
		}
		if why != "" && !told[v.path] {
			told[v.path] = true
			out.unknown = append(out.unknown, why)
		}
		if ok {
			c.requirements = v.requirements
			out.candidates = append(out.candidates, c)
		}
	}
	return out, nil
}

// idWith is the image that a status has for a set of requirements, if it is one that the alias can stand for: those of
// other families have the same requirements, but would not boot from this family's user data.
func idWith(amis []awsv1.AMI, alias awsv1.Alias, requirements []corev1.NodeSelectorRequirement) string {
	want := key(requirements)
	for i := range amis {
		if key(amis[i].Requirements) == want && standsFor(alias, amis[i].Name) {
			return amis[i].ID
		}
	}
	return ""
}

// ofVersion reports whether a published image of that name is for a minor version of Kubernetes.
func ofVersion(name, version string) bool { return strings.Contains(name, "-"+version+"-") }

// standsFor reports whether an alias can mean a published image of that name.
func standsFor(alias awsv1.Alias, name string) bool {
	var prefixes []string
	switch alias.Family {
	case awsv1.AMIFamilyAL2:
		prefixes = []string{"amazon-eks-node-1.", "amazon-eks-arm64-node-1.", "amazon-eks-gpu-node-1."}
	case awsv1.AMIFamilyAL2023:
		prefixes = []string{"amazon-eks-node-al2023-"}
	case awsv1.AMIFamilyBottlerocket:
		prefixes = []string{"bottlerocket-aws-k8s-"}
	default:
		prefixes = []string{"Windows_Server-" + strings.TrimPrefix(string(alias.Family), "Windows") + "-"}
	}
	ofFamily := slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	version := "-v" + strings.TrimPrefix(alias.Version, "v")
	return ofFamily && (alias.IsLatest() || strings.Contains(name+"-", version+"-") || strings.Contains(name, version+"."))
}

// byTerms finds the images of terms that are no alias. Of a term's fields the id counts first, then the parameter. While
// it is not known which image a parameter names, those of the status compete with the others: which of them is the newest
// must not change by that.
func (r *Resolver) byTerms(ctx context.Context, class *awsv1.EC2NodeClass) (outcome, error) {
	var out outcome
	var ids []string
	var queries []query
	for i, term := range class.Spec.AMISelectorTerms {
		others := term.Name != "" || term.Owner != "" || len(term.Tags) > 0
		field := fmt.Sprintf("spec.amiSelectorTerms[%d]", i)
		switch {
		case term.ID != "":
			ids = append(ids, term.ID)
			if others || term.SSMParameter != "" {
				out.ignored = append(out.ignored, field+" has an id, so its other fields are ignored")
			}
		case term.SSMParameter != "":
			if others {
				out.ignored = append(out.ignored, field+" has an ssmParameter, so its name, owner and tags are ignored")
			}
			got := r.read(ctx, term.SSMParameter, customAge)
			switch {
			case got.err != nil && got.id == "" && len(class.Status.AMIs) == 0:
				return out, fmt.Errorf("%s.ssmParameter: %w", field, got.err)
			case got.err != nil && got.id == "":
				for _, a := range class.Status.AMIs {
					ids = append(ids, a.ID)
				}
				out.unknown = append(out.unknown, fmt.Sprintf("%s.ssmParameter: %v, the images found before stay", field, got.err))
			case got.err != nil:
				out.unknown = append(out.unknown, fmt.Sprintf("%s.ssmParameter: %v, image %s stays", field, got.err, got.id))
			case got.id == "":
				out.ignored = append(out.ignored, fmt.Sprintf("%s: parameter %s does not exist", field, term.SSMParameter))
			}
			if got.id != "" {
				ids = append(ids, got.id)
			}
		default:
			queries = append(queries, queryOf(term))
		}
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		queries = append(queries, query{ids: slices.Compact(ids)})
	}
	for _, q := range queries {
		found, stale, err := r.describe(ctx, q)
		if err != nil {
			return out, err
		}
		if stale != nil {
			out.unknown = append(out.unknown, fmt.Sprintf("%v, so what was known of images counts", stale))
		}
		out.candidates = append(out.candidates, found...)
	}
	return out, nil
}
