package obs

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// timeFormat is ISO 8601 with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

// controllerKey is the attribute that names the loop which writes a line.
const controllerKey = "controller"

// lines writes log lines as those who come from Karpenter parse them, some by regular expressions, so that keys come in this
// order: level, time, logger, caller (at debug level), message, commit, controller, controllerGroup, controllerKind, the
// object that the controller works on by its kind, namespace, name, reconcileID, and what the line says.
//
// A line that says the same of the same object as one before is left out for a time, see again.
//
// Objects are maps under their kind, {"NodeClaim":{"name":"default-x7k2p"}}; keys are in kebab case. Errors of AWS bring
// their code, operation, request, service and status.
type lines struct {
	json   slog.Handler
	level  slog.Level
	commit string
	scopes []scope // what With and WithGroup said, outermost first
	again  *again  // shared by all that With and WithGroup made
}

// scope is attributes that With added, or the group that WithGroup opened.
type scope struct {
	group string
	attrs []slog.Attr
}

func newLines(to io.Writer, level, commit string) *lines {
	lvl := slog.LevelInfo
	switch level {
	case "debug":
		lvl = slog.LevelDebug
	case "error":
		lvl = slog.LevelError
	}
	return &lines{
		json: slog.NewJSONHandler(to, &slog.HandlerOptions{Level: slog.Level(-1 << 10), ReplaceAttr: value}), level: lvl, commit: commit, again: &again{},
	}
}

// Enabled implements slog.Handler.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// WithAttrs implements slog.Handler.
func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler { return l.with(scope{attrs: attrs}) }

// WithGroup implements slog.Handler.
func (l *lines) WithGroup(name string) slog.Handler { return l.with(scope{group: name}) }

func (l *lines) with(s scope) *lines {
	out := *l
	out.scopes = append(slices.Clone(l.scopes), s)
	return &out
}

// Handle implements slog.Handler.
func (l *lines) Handle(ctx context.Context, r slog.Record) error {
	said := l.attrs(r)
	if key, sampled := sameness(r, said); sampled {
		repeated, say := l.again.see(key, r.Time)
		if !say {
			return nil
		}
		if repeated > 0 {
			said = append(said, slog.Int("repeated", repeated))
		}
	}
	head := []slog.Attr{
		slog.String("level", levelName(r.Level)), slog.String("time", r.Time.UTC().Format(timeFormat)),
		slog.String("logger", take(&said, "logger", "controller")),
	}
	if l.level <= slog.LevelDebug && r.PC != 0 {
		head = append(head, slog.String("caller", caller(r.PC)))
	}
	head = append(head, slog.String("message", r.Message), slog.String("commit", l.commit))
	head = append(head, subject(ctx, &said)...)
	out := slog.NewRecord(time.Time{}, r.Level, "", 0)
	out.AddAttrs(head...)
	for _, a := range said {
		if err, ok := a.Value.Any().(error); ok && a.Key == "error" {
			out.AddAttrs(awsError(err)...)
		}
		out.AddAttrs(a)
	}
	return l.json.Handle(ctx, out)
}

// attrs are those of the logger and of the record, in the keys and shapes of the line.
func (l *lines) attrs(r slog.Record) []slog.Attr {
	var said []slog.Attr
	r.Attrs(func(a slog.Attr) bool {
		said = append(said, a)
		return true
	})
	for _, s := range slices.Backward(l.scopes) {
		if s.group != "" {
			said = []slog.Attr{{Key: s.group, Value: slog.GroupValue(said...)}}
		} else {
			said = append(slices.Clone(s.attrs), said...)
		}
	}
	for i, a := range said {
		said[i] = shape(a)
	}
	return said
}

// kinds are the attributes that name objects, by the kind under which they stand in a line.
var kinds = map[string]string{"nodeclaim": "NodeClaim", "node": "Node", "nodepool": "NodePool", "ec2nodeclass": "EC2NodeClass", "pod": "Pod"}

// shape puts an object under its kind and other keys into kebab case.
func shape(a slog.Attr) slog.Attr {
	a.Value = a.Value.Resolve()
	if kind, ok := kinds[a.Key]; ok && a.Value.Kind() != slog.KindGroup {
		return slog.Attr{Key: kind, Value: object(a.Value.String())}
	}
	a.Key = strings.ReplaceAll(a.Key, "_", "-")
	return a
}

// object is the map of a name, or of a namespace and a name.
func object(text string) slog.Value {
	if namespace, name, ok := strings.Cut(text, "/"); ok {
		return slog.GroupValue(slog.String("name", name), slog.String("namespace", namespace))
	}
	return slog.GroupValue(slog.String("name", text))
}

// take removes a text of a key and returns it, or other where there is none.
func take(said *[]slog.Attr, key, other string) string {
	i := slices.IndexFunc(*said, func(a slog.Attr) bool { return a.Key == key })
	if i < 0 {
		return other
	}
	out := (*said)[i].Value.String()
	*said = slices.Delete(*said, i, i+1)
	return out
}

// worksOn are the controllers that work on one object at a time: its group and kind.
var worksOn = map[string][2]string{
	"nodeclaim.lifecycle": {"karpenter.sh", "NodeClaim"}, "nodeclaim.disruption": {"karpenter.sh", "NodeClaim"}, "nodeclaim.tagging": {"karpenter.sh", "NodeClaim"},
	"node.termination": {"", "Node"}, "nodepool": {"karpenter.sh", "NodePool"}, "nodeclass": {"karpenter.k8s.aws", "EC2NodeClass"}, "pod.daemon": {"", "Pod"},
}

// subject is which controller writes a line, and about which object; it removes what it says from the rest. Lines that have
// these keys already, from controller-runtime itself, stay as they are.
func subject(ctx context.Context, said *[]slog.Attr) (out []slog.Attr) {
	name := take(said, controllerKey, "")
	if name == "" {
		return nil
	}
	out = append(out, slog.String(controllerKey, name))
	has := func(key string) bool {
		return slices.ContainsFunc(*said, func(a slog.Attr) bool { return a.Key == key })
	}
	if has("reconcileID") || has("controllerKind") {
		return out
	}
	var namespace, of string
	if on, ok := worksOn[name]; ok {
		out = append(out, slog.String("controllerGroup", on[0]), slog.String("controllerKind", on[1]))
		if i := slices.IndexFunc(*said, func(a slog.Attr) bool { return a.Key == on[1] }); i >= 0 {
			for _, part := range (*said)[i].Value.Group() {
				if part.Key == "name" {
					of = part.Value.String()
				} else {
					namespace = part.Value.String()
				}
			}
			out = append(out, (*said)[i])
			*said = slices.Delete(*said, i, i+1)
		}
	}
	out = append(out, slog.String("namespace", namespace), slog.String("name", of))
	if id := controller.ReconcileIDFromContext(ctx); id != "" {
		out = append(out, slog.String("reconcileID", string(id)))
	}
	return out
}

// levelName is DEBUG, INFO, WARN or ERROR, whatever numbers libraries use in between.
func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return slog.LevelDebug.String()
	case level < slog.LevelWarn:
		return slog.LevelInfo.String()
	case level < slog.LevelError:
		return slog.LevelWarn.String()
	}
	return slog.LevelError.String()
}

// caller is the place in the code: lifecycle/launch.go:56.
func caller(pc uintptr) string {
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return path.Join(path.Base(path.Dir(frame.File)), path.Base(frame.File)) + ":" + strconv.Itoa(frame.Line)
}

// value drops what the JSON handler would write of its own, and writes durations as text.
func value(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.MessageKey || a.Key == slog.LevelKey && a.Value.Kind() == slog.KindAny) {
		return slog.Attr{}
	}
	if d, ok := a.Value.Any().(time.Duration); ok {
		a.Value = slog.StringValue(d.Round(time.Microsecond).String())
	}
	return a
}

// awsError is what an error of the AWS SDK says of itself beside its text. The interfaces are those of the SDK's errors.
func awsError(err error) (out []slog.Attr) {
	var code interface{ ErrorCode() string }
	if !errors.As(err, &code) {
		return nil
	}
	out = append(out, slog.String("aws-error-code", code.ErrorCode()))
	var operation interface {
		Service() string
		Operation() string
	}
	if errors.As(err, &operation) {
		out = append(out, slog.String("aws-operation-name", operation.Operation()))
	}
	var request interface{ ServiceRequestID() string }
	if errors.As(err, &request) {
		out = append(out, slog.String("aws-request-id", request.ServiceRequestID()))
	}
	if operation != nil {
		out = append(out, slog.String("aws-service-name", operation.Service()))
	}
	var status interface{ HTTPStatusCode() int }
	if errors.As(err, &status) {
		out = append(out, slog.Int("aws-status-code", status.HTTPStatusCode()))
	}
	return out
}
