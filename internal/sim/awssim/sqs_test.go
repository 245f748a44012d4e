package awssim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

func TestMessagesThatNobodyHandlesGoToTheDeadLetterQueue(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	dead, arn := a.queue("dead", map[string]string{"MessageRetentionPeriod": "1209600"})
	url, source := a.queue("kerf", map[string]string{
		"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"2"}`, arn), "VisibilityTimeout": "20", "MessageRetentionPeriod": "300",
	})
	if _, err := a.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("poison")}); err != nil {
		t.Fatal(err)
	}
	for n, want := range []int{1, 1, 0} {
		if got := len(a.receive(url)); got != want {
			t.Errorf("receive %d gives %d messages, want %d", n+1, got, want)
		}
		a.clock.Advance(21 * time.Second)
	}
	a.clock.Advance(time.Hour) // longer than the first queue would keep it
	got := a.receive(dead)
	if len(got) != 1 || *got[0].Body != "poison" || got[0].Attributes["DeadLetterQueueSourceArn"] != source || got[0].Attributes["ApproximateReceiveCount"] != "3" {
		t.Fatalf("dead letters: %+v", got)
	}
	sources, err := a.sqs.ListDeadLetterSourceQueues(ctx, &sqs.ListDeadLetterSourceQueuesInput{QueueUrl: &dead})
	if err != nil || len(sources.QueueUrls) != 1 || sources.QueueUrls[0] != url {
		t.Errorf("sources: %+v, %v", sources, err)
	}
	if n := a.sum("AWS/SQS", "NumberOfMessagesSent", "QueueName", "dead"); n != 0 {
		t.Errorf("moving counts as %g sent", n)
	}
}

func TestQueueAttributesRefuse(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	closed, closedARN := a.queue("closed", map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"denyAll"}`})
	_, pickyARN := a.queue("picky", map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["` + a.s.World.QueueARN("kerf") + `"]}`})
	url, arn := a.queue("kerf", nil)
	other, _ := a.queue("other", nil)
	set := func(url, name, value string) error {
		_, err := a.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{name: value}})
		return err
	}
	redrive := func(url, target string, n int) error {
		return set(url, "RedrivePolicy", fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`, target, n))
	}
	fifo := func(name string) error {
		_, err := a.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &name, Attributes: map[string]string{"FifoQueue": "true"}})
		return err
	}
	for name, tt := range map[string]struct {
		err  error
		code string
	}{
		"a dead-letter queue that does not exist": {redrive(url, arn+"-none", 3), "InvalidParameterValue"},
		"itself":      {redrive(url, arn, 3), "InvalidParameterValue"},
		"no receives": {redrive(url, closedARN, 0), "InvalidParameterValue"},
		"a queue that takes nobody's dead letters": {redrive(url, closedARN, 3), "InvalidParameterValue"},
		"a queue that takes another's":             {redrive(other, pickyARN, 3), "InvalidParameterValue"},
		"a queue that takes this one's":            {redrive(url, pickyARN, 3), ""},
		"a permission that there is not":           {set(closed, "RedriveAllowPolicy", `{"redrivePermission":"some"}`), "InvalidParameterValue"},
		"a policy that is not JSON":                {set(url, "Policy", "{"), "InvalidAttributeValue"},
		"a policy without a principal":             {set(url, "Policy", `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"sqs:*","Resource":"*"}]}`), "InvalidAttributeValue"},
		"retention of a second":                    {set(url, "MessageRetentionPeriod", "1"), "InvalidAttributeValue"},
		"an attribute that there is not":           {set(url, "Colour", "red"), "InvalidAttributeName"},
		"a FIFO queue":                             {fifo("x.fifo"), "AWS.SimpleQueueService.UnsupportedOperation"},
		"a queue that does not exist":              {set(url+"-none", "DelaySeconds", "1"), "AWS.SimpleQueueService.NonExistentQueue"},
	} {
		if got := code(tt.err); got != tt.code {
			t.Errorf("%s: %v, want %q", name, tt.err, tt.code)
		}
	}
}

func TestQueueTagsAndLists(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	out, err := a.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("kerf"), Tags: map[string]string{"karpenter.sh/discovery": "kerf"}})
	if err != nil {
		t.Fatal(err)
	}
	a.queue("other", nil)
	if _, err := a.sqs.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: out.QueueUrl, Tags: map[string]string{"a": "1", "b": "2"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.sqs.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: out.QueueUrl, TagKeys: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	tags, err := a.sqs.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: out.QueueUrl})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"karpenter.sh/discovery": "kerf", "b": "2"}, tags.Tags); diff != "" {
		t.Error(diff)
	}
	var urls []string
	pages := sqs.NewListQueuesPaginator(a.sqs, &sqs.ListQueuesInput{MaxResults: aws.Int32(1)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, page.QueueUrls...)
	}
	if diff := cmp.Diff([]string{a.s.World.QueueURL("kerf"), a.s.World.QueueURL("other")}, urls); diff != "" {
		t.Error(diff)
	}
}

func TestBatches(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	url, _ := a.queue("kerf", nil)
	big := strings.Repeat("x", 2<<10)
	out, err := a.sqs.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: []sqstypes.SendMessageBatchRequestEntry{
		{Id: aws.String("a"), MessageBody: aws.String("1")}, {Id: aws.String("b"), MessageBody: &big}, {Id: aws.String("c"), MessageBody: aws.String("3"), DelaySeconds: 901},
	}})
	if err != nil || len(out.Successful) != 2 || len(out.Failed) != 1 || *out.Failed[0].Id != "c" || *out.Failed[0].Code != "InvalidParameterValue" {
		t.Fatalf("sent: %+v, %v", out, err)
	}
	got := a.receive(url)
	if len(got) != 2 || *got[1].Body != big {
		t.Fatalf("%d messages", len(got))
	}
	changed, err := a.sqs.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &url, Entries: []sqstypes.ChangeMessageVisibilityBatchRequestEntry{
		{Id: aws.String("a"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 0}, {Id: aws.String("b"), ReceiptHandle: aws.String("no"), VisibilityTimeout: 0},
	}})
	if err != nil || len(changed.Successful) != 1 || len(changed.Failed) != 1 || *changed.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("changed: %+v, %v", changed, err)
	}
	if got := a.receive(url); len(got) != 1 || *got[0].Body != "1" {
		t.Errorf("shown again: %+v", got)
	}
	if _, err := a.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String(strings.Repeat("x", 1<<20))}); err != nil {
		t.Errorf("a message of 1 MiB: %v", err)
	}
	if _, err := a.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String(strings.Repeat("x", 1<<20+1))}); !strings.Contains(code(err), "InvalidParameterValue") {
		t.Errorf("a message of more than 1 MiB: %v", err)
	}
}

func TestAQueueIsShutWithItsKey(t *testing.T) {
	a := bare(t)
	ctx := t.Context()
	id := a.key(useKey)
	url, _ := a.queue("kerf", map[string]string{"KmsMasterKeyId": id})
	if _, err := a.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.keys.DisableKey(ctx, &kms.DisableKeyInput{KeyId: &id}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &url}); code(err) != "KMS.DisabledException" {
		t.Errorf("receiving: %v", err)
	}
	if _, err := a.keys.ScheduleKeyDeletion(ctx, &kms.ScheduleKeyDeletionInput{KeyId: &id, PendingWindowInDays: aws.Int32(7)}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.sqs.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")}); code(err) != "KMS.InvalidStateException" {
		t.Errorf("sending: %v", err)
	}
}

func TestADeletedQueuesNameIsTakenForAMinute(t *testing.T) {
	a := bare(t)
	url, _ := a.queue("kerf", nil)
	if _, err := a.sqs.DeleteQueue(t.Context(), &sqs.DeleteQueueInput{QueueUrl: &url}); err != nil {
		t.Fatal(err)
	}
	again := func() error {
		_, err := a.sqs.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("kerf")})
		return err
	}
	a.clock.Advance(59 * time.Second)
	if got := code(again()); got != "AWS.SimpleQueueService.QueueDeletedRecently" {
		t.Errorf("after 59 s: %q", got)
	}
	a.clock.Advance(time.Second)
	if err := again(); err != nil {
		t.Errorf("after a minute: %v", err)
	}
	if _, err := a.sqs.GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("kerf"), QueueOwnerAWSAccountId: aws.String("999999999999")}); code(err) != "AWS.SimpleQueueService.NonExistentQueue" {
		t.Errorf("another account's queue: %v", err)
	}
}
