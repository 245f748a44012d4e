package image

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	awsv1 "github.com/kerf-sh/kerf/api/aws/v1"
	"github.com/kerf-sh/kerf/internal/aws/awserr"
)

// query is one question to EC2: by ids, or by name, owners and tags.
type query struct {
	ids    []string
	name   string
	owners []string
	tags   map[string]string
}

// answer is what a query found, with its time.
type answer struct {
	images []candidate
	at     time.Time
	ids    []string  // what was asked for by id, nil for other queries
	wanted time.Time // when somebody last wanted it
}

// queryOf makes the query of a term that has neither id nor parameter. A name without an owner is looked for among the
// account's own images and those of Amazon, so that nobody else's image of that name is taken.
func queryOf(term awsv1.AMISelectorTerm) query {
	q := query{name: term.Name, tags: term.Tags}
	switch {
	case term.Owner != "":
		q.owners = []string{term.Owner}
	case term.Name != "":
		q.owners = []string{"amazon", "self"}
	}
	return q
}

func (q *query) key() string {
	parts := append([]string{q.name}, q.owners...)
	parts = append(parts, "\x00")
	parts = append(parts, q.ids...)
	for _, k := range slices.Sorted(maps.Keys(q.tags)) {
		parts = append(parts, "\x00", k, q.tags[k])
	}
	return strings.Join(parts, "\x01")
}

func (q *query) filters() []types.Filter {
	out := []types.Filter{{Name: new("state"), Values: []string{"available"}}}
	if len(q.ids) > 0 {
		out = append(out, types.Filter{Name: new("image-id"), Values: q.ids})
	}
	if q.name != "" {
		out = append(out, types.Filter{Name: new("name"), Values: []string{q.name}})
	}
	for _, k := range slices.Sorted(maps.Keys(q.tags)) {
		if q.tags[k] == "*" {
			out = append(out, types.Filter{Name: new("tag-key"), Values: []string{k}})
		} else {
			out = append(out, types.Filter{Name: new("tag:" + k), Values: []string{q.tags[k]}})
		}
	}
	return out
}

// staleAge is how long an answer is used when EC2 gives no other.
const staleAge = 24 * time.Hour

// describe asks EC2 for images, unless it has just done so. stale is why the answer is an older one. Who comes while the
// question is put waits for its answer: all classes of a cluster come at the same moment.
func (r *Resolver) describe(ctx context.Context, q query) (found []candidate, stale, err error) {
	if a, ok := r.lately(q); ok {
		return a.images, nil, nil
	}
	began := r.now()
	key := "ids" // one question for those of all classes; it may have been put before this one was wanted
	if !q.byID() {
		key = q.key()
	}
	for range 2 {
		if _, err, _ = r.flights.Do(key, func() (any, error) { return nil, r.ask(ctx, q) }); err != nil {
			break
		}
		key = q.key()
		r.mu.Lock()
		a, ok := r.found[key]
		r.mu.Unlock()
		if ok && (!a.at.Before(began) || r.now().Sub(a.at) < r.refresh) {
			return a.images, nil, nil
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.found[q.key()]; ok {
		return last.images, err, nil
	}
	return nil, nil, err
}

// lately is the answer to a query that is not old, and notes that it is wanted. Answers too old for any use are forgotten.
func (r *Resolver) lately(q query) (answer, bool) {
	now, key := r.now(), q.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, a := range r.found {
		if now.Sub(a.at) >= max(staleAge, r.refresh) {
			delete(r.found, k)
		}
	}
	last, known := r.found[key]
	if known {
		last.wanted = now
		r.found[key] = last
	}
	return last, known && now.Sub(last.at) < r.refresh
}

// ask puts a query to EC2, with others that may as well be put, and keeps the answers.
func (r *Resolver) ask(ctx context.Context, q query) error {
	if _, ok := r.lately(q); ok {
		return nil // the flight before this one
	}
	now := r.now()
	r.mu.Lock()
	asked := r.togetherLocked(q, now)
	r.mu.Unlock()
	var out []candidate
	disks := map[string]Disks{}
	pages := ec2.NewDescribeImagesPaginator(r.images, &ec2.DescribeImagesInput{
		Filters: asked.filters(), Owners: asked.owners, IncludeDeprecated: new(true), MaxResults: new(int32(1000)),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return awserr.Wrap("describing images", err)
		}
		for i := range page.Images {
			if c, ok := candidateOf(&page.Images[i], now); ok {
				out = append(out, c)
				disks[c.id] = disksOf(&page.Images[i])
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteDisksLocked(disks)
	r.noteLocked(q, asked, out, now)
	return nil
}

// candidateOf reads an image; those of other architectures are of no use.
func candidateOf(in *types.Image, now time.Time) (candidate, bool) {
	arch := map[types.ArchitectureValues]string{types.ArchitectureValuesX8664: amd64, types.ArchitectureValuesArm64: arm64}[in.Architecture]
	if arch == "" || in.ImageId == nil {
		return candidate{}, false
	}
	c := candidate{id: *in.ImageId, name: aws.ToString(in.Name), requirements: archRequirement(arch)}
	// A date that can't be read makes the image the oldest.
	c.created, _ = time.Parse(time.RFC3339, aws.ToString(in.CreationDate))
	if at, err := time.Parse(time.RFC3339, aws.ToString(in.DeprecationTime)); err == nil {
		c.deprecated = !at.After(now)
	}
	return c, true
}
