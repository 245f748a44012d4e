package authz_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

func TestQueuePoliciesHaveASay(t *testing.T) {
	s := start(t)
	url := aws.String(s.World.QueueURL(cluster))
	receive := func() error {
		_, err := s.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url})
		return err
	}
	set := func(effect string) {
		t.Helper()
		text := `{"Version":"2012-10-17","Statement":[{"Sid":"Q","Effect":"` + effect + `","Principal":{"AWS":"arn:aws:iam::` + account + `:role/` + roleName +
			`"},"Action":"sqs:ReceiveMessage","Resource":"` + s.World.QueueARN(cluster) + `"}]}`
		if err := s.World.SetQueueAttributes(cluster, map[string]string{"Policy": text}); err != nil {
			t.Fatal(err)
		}
	}
	set("Allow")
	if err := receive(); err != nil {
		t.Errorf("the queue's policy alone allows, but: %v", err)
	}
	set("Deny")
	s.attach(everything())
	if err := receive(); code(err) != "AccessDenied" || !strings.HasSuffix(message(err), "with an explicit deny in a resource-based policy") {
		t.Errorf("the queue's policy forbids, but: %v", err)
	}
	_, err := s.sqs.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: []sqstypes.DeleteMessageBatchRequestEntry{{Id: aws.String("1"), ReceiptHandle: aws.String("x")}}})
	if err != nil {
		t.Errorf("batch with all rights: %v", err)
	}
	s.attach(policy(allow("R", "*", "sqs:ReceiveMessage")))
	_, err = s.sqs.DeleteMessageBatch(t.Context(), &sqs.DeleteMessageBatchInput{QueueUrl: url, Entries: []sqstypes.DeleteMessageBatchRequestEntry{{Id: aws.String("1"), ReceiptHandle: aws.String("x")}}})
	if !strings.Contains(message(err), "is not authorized to perform: sqs:deletemessage on resource") {
		t.Errorf("a batch is judged as its single action, but: %v", err)
	}
}

func TestAnEncryptedQueueTakesItsKey(t *testing.T) {
	s := start(t, everything())
	key, err := s.World.CreateKey(world.NewKey{Description: "queue"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.World.SetQueueAttributes(cluster, map[string]string{"KmsMasterKeyId": key.ARN}); err != nil {
		t.Fatal(err)
	}
	url := aws.String(s.World.QueueURL(cluster))
	receive := func() error {
		_, err := s.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url})
		return err
	}
	if err := receive(); err != nil {
		t.Errorf("with all rights: %v", err)
	}
	s.attach(policy(allow("Q", "*", "sqs:*")))
	want := "User: " + session + " is not authorized to perform: kms:Decrypt on resource: " + key.ARN + " because no identity-based policy allows the kms:Decrypt action"
	if err := receive(); code(err) != "KMS.AccessDeniedException" || message(err) != want {
		t.Errorf("without the right to decrypt: %s %s", code(err), message(err))
	}
	s.attach(policy(allow("Q", "*", "sqs:*"), when(allow("K", key.ARN, "kms:Decrypt"), "StringEquals", "kms:ViaService", "sqs.us-east-1.amazonaws.com")))
	if err := receive(); err != nil {
		t.Errorf("with the right to decrypt for SQS: %v", err)
	}
	_, err = s.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: url, MessageBody: aws.String("x")})
	if !strings.Contains(message(err), "kms:GenerateDataKey on resource") {
		t.Errorf("sending takes a data key, but: %v", err)
	}
	if err := s.World.PutKeyPolicy(key.ID, `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::`+account+
		`:role/KarpenterNodeRole-demo"},"Action":"kms:*","Resource":"*"}]}`, "", true); err != nil {
		t.Fatal(err)
	}
	s.attach(everything())
	if err := receive(); code(err) != "KMS.AccessDeniedException" || !strings.HasSuffix(message(err), "because no resource-based policy allows the kms:Decrypt action") {
		t.Errorf("a key that knows others only: %v", err)
	}
}
