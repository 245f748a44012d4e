package statemetrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// sample is one gauge. Its labels are sorted by name and shared with other samples, so that a hundred thousand of them take as little
// memory as can be.
type sample struct {
	family *family
	labels []*dto.LabelPair
	gauge  dto.Gauge
	value  float64
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.family.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(to *dto.Metric) error {
	s.gauge.Value = &s.value
	to.Label, to.Gauge = s.labels, &s.gauge
	return nil
}

func (p *pass) add(f *family, labels []*dto.LabelPair, value float64) {
	p.out = append(p.out, sample{family: f, labels: labels, value: value})
}

// interner makes each pair of a label and a value once.
type interner map[string]map[string]*dto.LabelPair

// pair returns nil for an empty value: to Prometheus a label without a value is none.
func (in interner) pair(name, value string) *dto.LabelPair {
	if value == "" {
		return nil
	}
	values := in[name]
	if values == nil {
		values = map[string]*dto.LabelPair{}
		in[name] = values
	}
	out := values[value]
	if out == nil {
		out = pairOf(name, value)
		values[value] = out
	}
	return out
}

// pairOf is a pair that no other sample is expected to have.
func pairOf(name, value string) *dto.LabelPair {
	return &dto.LabelPair{Name: new(name), Value: new(strings.ToValidUTF8(value, "\uFFFD"))}
}

// set makes the labels of a sample of pairs of a name and a value, in any order.
func (in interner) set(pairs ...string) []*dto.LabelPair {
	out := make([]*dto.LabelPair, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if one := in.pair(pairs[i], pairs[i+1]); one != nil {
			out = append(out, one)
		}
	}
	return sorted(out)
}

// with is labels and more of them, nil ones left out.
func with(labels []*dto.LabelPair, more ...*dto.LabelPair) []*dto.LabelPair {
	out := make([]*dto.LabelPair, 0, len(labels)+len(more))
	out = append(out, labels...)
	for _, one := range more {
		if one != nil {
			out = append(out, one)
		}
	}
	return sorted(out)
}

func sorted(labels []*dto.LabelPair) []*dto.LabelPair {
	slices.SortFunc(labels, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return labels
}
