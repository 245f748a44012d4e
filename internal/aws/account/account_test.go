package account

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kerf-sh/kerf/internal/awsmodel/awssetup"
)

func TestQueuesAreNamedInThreeWays(t *testing.T) {
	for text, want := range map[string]QueueRef{
		"demo":      {Name: "demo"},
		"demo.fifo": {Name: "demo.fifo"},
		"arn:aws-cn:sqs:cn-north-1:111122223333:demo":               {Name: "demo", Account: "111122223333", Region: "cn-north-1"},
		"https://sqs.eu-west-1.amazonaws.com/111122223333/demo":     {Name: "demo", Account: "111122223333", Region: "eu-west-1", URL: "https://sqs.eu-west-1.amazonaws.com/111122223333/demo"},
		"http://127.0.0.1:4566/111122223333/demo":                   {Name: "demo", Account: "111122223333", URL: "http://127.0.0.1:4566/111122223333/demo"},
		"https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/1/demo":    {Name: "demo", Account: "1", URL: "https://vpce-1.sqs.eu-west-1.vpce.amazonaws.com/1/demo"},
		"https://sqs.cn-north-1.amazonaws.com.cn/111122223333/demo": {Name: "demo", Account: "111122223333", Region: "cn-north-1", URL: "https://sqs.cn-north-1.amazonaws.com.cn/111122223333/demo"},
	} {
		if got, err := ParseQueueRef(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a b", "a/b", "arn:aws:sqs:eu-west-1:1", "arn:aws:sns:eu-west-1:1:x", "https://sqs.eu-west-1.amazonaws.com/demo", "https://x/%zz", "arn:aws:sqs:::x"} {
		if got, err := ParseQueueRef(text); err == nil || !strings.Contains(err.Error(), "the queue") {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestAttributesOfAQueueThatAreOdd(t *testing.T) {
	q, err := queueOf("q", "u", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:x","maxReceiveCount":3}`, "FifoQueue": "true"})
	if err != nil || q.MaxReceives != 3 || q.DeadLetter != "arn:x" || !q.FIFO {
		t.Errorf("got %+v, %v", q, err)
	}
	q, err = queueOf("q", "u", map[string]string{"Policy": `{`, "RedrivePolicy": `[`, "MessageRetentionPeriod": "60"})
	if err == nil || !strings.Contains(err.Error(), "its policy") || !strings.Contains(err.Error(), "redrive") || q.Retention != time.Minute {
		t.Errorf("got %+v, %v", q, err)
	}
}

func TestRulesOfProofsSayWhenTheyWereMade(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s := &awssetup.Setup{}
	for _, name := range []string{ProbeRuleName(now.Add(-2*time.Hour), "a"), ProbeRuleName(now.Add(-time.Minute), "b"), "kerf-proof-", "kerf-proof-!!-x", "Karpenter-1"} {
		s.Rules = append(s.Rules, awssetup.Rule{Name: name})
	}
	if got, want := Leftovers(s, now), []string{s.Rules[0].Name}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := len(ProbeRuleName(now, newID())); n > 64 {
		t.Errorf("a rule's name has %d characters, EventBridge takes 64", n)
	}
}

func TestDocumentsAreDecodedOnce(t *testing.T) {
	for in, want := range map[string]string{
		"%7B%22a%22%3A%22b%2Bc%20d%22%7D": `{"a":"b+c d"}`,
		`{"a":"100%25"}`:                  `{"a":"100%25"}`,
		"%zz":                             "%zz",
	} {
		if got := unescape(in); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

func TestFiguresAreAskedForInWholeMinutes(t *testing.T) {
	for window, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, 24 * time.Hour: time.Hour, 30 * time.Hour: 75 * time.Minute, 25 * time.Hour: 62 * time.Minute} {
		if got := period(window); got != want {
			t.Errorf("for %s: %s, want %s", window, got, want)
		}
	}
}
