package obs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/go-logr/logr"
)

// line is what a logger of a level writes about what say says, without the time.
func line(t *testing.T, level string, say func(*slog.Logger)) string {
	t.Helper()
	var out bytes.Buffer
	say(slog.New(newLines(&out, level, "abc1234")))
	text := strings.TrimSpace(out.String())
	if text != "" && !json.Valid([]byte(text)) {
		t.Fatalf("not JSON: %s", text)
	}
	return regexp.MustCompile(`"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`).ReplaceAllString(text, `"time":"T"`)
}

func refused() error {
	api := &smithy.GenericAPIError{Code: "UnauthorizedOperation", Message: "no"}
	response := &awshttp.ResponseError{RequestID: "r-1", ResponseError: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: 403}}, Err: api}}
	return fmt.Errorf("creating the fleet: %w", &smithy.OperationError{ServiceID: "EC2", OperationName: "CreateFleet", Err: response})
}

// Keys, their order and their shapes are what users' pipelines were written for; some are regular expressions.
func TestLines(t *testing.T) {
	for name, tc := range map[string]struct {
		level string
		say   func(*slog.Logger)
		want  string
	}{
		"plain": {say: func(l *slog.Logger) { l.Info("running") }, want: `{"level":"INFO","time":"T","logger":"controller","message":"running","commit":"abc1234"}`},
		"one object": {
			say: func(l *slog.Logger) {
				l.With("controller", "nodeclaim.lifecycle").Info("launched nodeclaim", "nodeclaim", "default-x", "provider_id", "aws:///a/i-1", "after", 1500*time.Millisecond)
			},
			want: `{"level":"INFO","time":"T","logger":"controller","message":"launched nodeclaim","commit":"abc1234","controller":"nodeclaim.lifecycle","controllerGroup":"karpenter.sh","controllerKind":"NodeClaim",` +
				`"NodeClaim":{"name":"default-x"},"namespace":"","name":"default-x","provider-id":"aws:///a/i-1","after":"1.5s"}`,
		},
		"a loop without an object of its own": {
			say: func(l *slog.Logger) {
				l.With("controller", "interruption").Info("initiating delete from interruption message", "messageKind", "spot_interrupted", "nodeclaim", "a", "action", "CordonAndDrain", "node", "n")
			},
			want: `{"level":"INFO","time":"T","logger":"controller","message":"initiating delete from interruption message","commit":"abc1234","controller":"interruption","namespace":"","name":"",` +
				`"messageKind":"spot_interrupted","NodeClaim":{"name":"a"},"action":"CordonAndDrain","Node":{"name":"n"}}`,
		},
		"an object with a namespace": {
			say: func(l *slog.Logger) {
				l.With("controller", "pod.daemon").Warn("x", "pod", "kube-system/a")
			},
			want: `{"level":"WARN","time":"T","logger":"controller","message":"x","commit":"abc1234","controller":"pod.daemon","controllerGroup":"","controllerKind":"Pod","Pod":{"name":"a","namespace":"kube-system"},"namespace":"kube-system","name":"a"}`,
		},
		"an error of AWS": {
			say: func(l *slog.Logger) { l.Error("failed", "error", refused()) },
			want: `{"level":"ERROR","time":"T","logger":"controller","message":"failed","commit":"abc1234","aws-error-code":"UnauthorizedOperation","aws-operation-name":"CreateFleet","aws-request-id":"r-1",` +
				`"aws-service-name":"EC2","aws-status-code":403,"error":"creating the fleet: operation error EC2: CreateFleet, https response error StatusCode: 403, RequestID: r-1, api error UnauthorizedOperation: no"}`,
		},
		"another error":   {say: func(l *slog.Logger) { l.Error("failed", "error", errors.New("x")) }, want: `{"level":"ERROR","time":"T","logger":"controller","message":"failed","commit":"abc1234","error":"x"}`},
		"below the level": {level: "error", say: func(l *slog.Logger) { l.Info("x") }},
		"a library's details": {
			level: "debug", say: func(l *slog.Logger) {
				logr.FromSlogHandler(Quieter(l).Handler()).WithName("mgr").WithValues("controller", "nodepool", "controllerKind", "NodePool").V(1).Info("Starting", "n_workers", 2)
			},
			want: `{"level":"DEBUG","time":"T","logger":"mgr","caller":"obs/logline_test.go:N","message":"Starting","commit":"abc1234","controller":"nodepool","controllerKind":"NodePool","n-workers":2}`,
		},
		"a group": {say: func(l *slog.Logger) { l.WithGroup("g").With("a", 1).Info("x", "b", 2) }, want: `{"level":"INFO","time":"T","logger":"controller","message":"x","commit":"abc1234","g":{"a":1,"b":2}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got := regexp.MustCompile(`_test\.go:\d+`).ReplaceAllString(line(t, tc.level, tc.say), "_test.go:N")
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// A line that can't be written is reported where LOG_ERROR_OUTPUT_PATHS says, and still goes to the other outputs.
func TestWhatCannotBeWrittenIsReported(t *testing.T) {
	var good, failed bytes.Buffer
	log := slog.New(newLines(&reported{to: fanOut{full{}, &good}, failed: &failed}, "", "c"))
	log.InfoContext(context.Background(), "said")
	if !strings.Contains(good.String(), `"message":"said"`) || !strings.Contains(failed.String(), "no space left") {
		t.Errorf("written %q, reported %q", good.String(), failed.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestLogsGoToFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := NewLogger(LogOptions{Level: "info", Paths: " file://" + path, ErrorPaths: "stderr", Commit: "c"})
	if err != nil {
		t.Fatal(err)
	}
	log.Info("said")
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"said"`) {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := NewLogger(LogOptions{ErrorPaths: "/nonexistent/log"}); err == nil || !strings.Contains(err.Error(), "LOG_ERROR_OUTPUT_PATHS") {
		t.Errorf("an output for errors that can't be opened: %v", err)
	}
}
