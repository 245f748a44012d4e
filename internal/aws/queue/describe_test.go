package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kerf-sh/kerf/internal/aws/queue"
)

func TestADescribedMessageKeepsItsContents(t *testing.T) {
	for body, want := range map[string]string{
		`{"id":"e-1","source":"aws.ec2","detail-type":"x","detail":{"password":"hunter2"}}`: "e-1 source aws.ec2 detail_type x",
		`password=hunter2`:                                      "body_bytes 16 body_sha256",
		`{"id":7,"source":["hunter2"]}`:                         "body_bytes 29",
		`{"source":"` + strings.Repeat("a", 5000) + `hunter2"}`: "source aaa",
	} {
		got := strings.Trim(fmt.Sprint(queue.Describe(body)), "[]")
		if !strings.Contains(got, want) || strings.Contains(got, "hunter2") || len(got) > 400 {
			t.Errorf("%.80s: got %s", body, got)
		}
	}
}
