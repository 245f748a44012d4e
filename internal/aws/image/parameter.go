package image

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/kerf-sh/kerf/internal/aws/awserr"
	"github.com/kerf-sh/kerf/internal/cloud"
)

// How long the value of a parameter is believed: dated names never change, the newest image does now and then, a user's
// parameter at any time.
const (
	pinnedAge = 24 * time.Hour
	movingAge = 30 * time.Minute
	customAge = 5 * time.Minute
)

// parameter is the last answer on a parameter; an empty id means that it does not exist.
type parameter struct {
	id string
	at time.Time
}

// readAll reads the parameters of variants, each once and all at the same time.
func (r *Resolver) readAll(ctx context.Context, variants []variant) ([]string, []error) {
	type result struct {
		id  string
		err error
	}
	results := map[string]*result{}
	var wait sync.WaitGroup
	for _, v := range variants {
		if results[v.path] != nil {
			continue
		}
		age := pinnedAge
		if v.moves {
			age = movingAge
		}
		got := &result{}
		results[v.path] = got
		wait.Go(func() { got.id, got.err = r.read(ctx, v.path, age) })
	}
	wait.Wait()
	ids, errs := make([]string, len(variants)), make([]error, len(variants))
	for i, v := range variants {
		ids[i], errs[i] = results[v.path].id, results[v.path].err
	}
	return ids, errs
}

// read returns the image that a parameter names, empty when there is no such parameter. A value that can't be read anew
// stays what it was, however old.
func (r *Resolver) read(ctx context.Context, name string, age time.Duration) (string, error) {
	now := r.now()
	r.mu.Lock()
	last, known := r.values[name]
	r.mu.Unlock()
	if known && last.id == "" {
		age = min(age, time.Minute) // a missing parameter may be published any time
	}
	if known && now.Sub(last.at) < age {
		return last.id, nil
	}
	out, err := r.parameters.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	id := ""
	switch {
	case err == nil && out.Parameter != nil:
		id = strings.TrimSpace(aws.ToString(out.Parameter.Value))
		if !strings.HasPrefix(id, "ami-") {
			return "", fmt.Errorf("parameter %s holds %.40q, which is no image ID", name, id)
		}
	case err != nil && cloud.ClassOf(awserr.Wrap("", err)) != cloud.NotFound:
		err = awserr.Wrap("reading parameter "+name, err)
		if known && last.id != "" {
			r.keep(name, err)
			return last.id, nil
		}
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values[name] = parameter{id: id, at: now}
	delete(r.told, name)
	return id, nil
}
