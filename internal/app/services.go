package app

import (
	"context"
	"net/http"
	"path"

	"github.com/kerf-sh/kerf/internal/aws/dependency"
)

// awsCheck is the name under which readyz tells of AWS: /readyz/aws.
const awsCheck = "aws"

// awsAnswers names the services that do not answer, to who asks for this check by its name. The sum of all checks leaves
// it out: a process that can't reach AWS still knows what to leave alone, and nothing is won by calling it unready.
func (d *deps) awsAnswers(r *http.Request) error {
	if path.Base(r.URL.Path) != awsCheck {
		return nil
	}
	return d.services.Err()
}

// watchServices keeps the metric and the log up with which services answer.
func (d *deps) watchServices(ctx context.Context) error {
	gone := map[string]dependency.State{}
	d.services.Watch(ctx, func(s dependency.State) {
		if !s.Answers {
			gone[s.Service] = s
			d.metrics.ServiceUp.WithLabelValues(s.Service).Set(0)
			d.log.Warn("an AWS service does not answer; what is known of it is kept", "service", s.Service, "since", s.Since, "operation", s.Operation, "error", s.Error)
			return
		}
		d.metrics.ServiceUp.WithLabelValues(s.Service).Set(1)
		if was, ok := gone[s.Service]; ok {
			delete(gone, s.Service)
			d.log.Info("an AWS service answers again", "service", s.Service, "away_since", was.Since)
		}
	})
	return nil
}
