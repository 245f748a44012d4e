package awssim

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/kerf-sh/kerf/internal/sim/awssim/wire"
	"github.com/kerf-sh/kerf/internal/sim/awssim/world"
)

// keys finds access keys in the world.
type keys struct{ world *world.World }

func (k keys) Identity(accessKeyID string) (wire.Identity, bool) {
	key, ok := k.world.AccessKey(accessKeyID)
	if !ok {
		return wire.Identity{}, false
	}
	id := wire.Identity{
		AccessKeyID: key.ID, Secret: key.Secret, SessionToken: key.SessionToken, Account: k.world.Account(),
		PrincipalARN: key.PrincipalARN, PrincipalID: key.PrincipalID,
	}
	if id.PrincipalID == "" {
		id.PrincipalID = "AIDA" + strings.TrimPrefix(key.ID, "AKIA")
	}
	// Signatures are judged by the real clock, sessions end by the world's, which may be another.
	if !key.Expires.IsZero() && !k.world.Now().Before(key.Expires) {
		id.Expires = time.Unix(1, 0)
	}
	return id, true
}

// faults asks the world's faults about every request.
type faults struct{ world *world.World }

func (f faults) Intercept(ctx context.Context, r *wire.Request) wire.Interception {
	in := f.world.Intercept(r.Service.Name, r.Operation, r.Principal.PrincipalARN, r.Values()...)
	out := wire.Interception{DropReply: in.DropReply, Note: strings.Join(in.FaultIDs, ",")}
	if in.Delay > 0 {
		if err := f.world.Sleep(ctx, in.Delay); err != nil {
			out.Err = wire.Internal(r, "the simulator is closing")
			return out
		}
	}
	if in.Err != nil {
		out.Err = refusal(in.Err)
		if in.Throttled && in.Err.Code == world.ThrottlingCode { // each service has its own
			out.Err = wire.Throttled(r)
		}
	}
	return out
}

// recorder writes every request into the world's log.
type recorder struct{ world *world.World }

func (rec recorder) Record(c wire.Call) {
	outcome := c.ErrorCode
	if outcome == "" {
		outcome = "OK"
	}
	rec.world.RecordCall(world.Call{
		Service: c.Service, Operation: c.Operation, Principal: c.Principal, RequestID: c.RequestID, At: rec.world.Now(),
		Took: c.Duration, Outcome: outcome, Fault: c.Fault, Detail: c.Detail, UserAgent: c.UserAgent, Request: c.Input, DryRun: c.DryRun,
	})
}

// refusal turns the world's refusals into answers.
func refusal(err error) *wire.Error {
	if e, ok := errors.AsType[*world.Error](err); ok {
		return &wire.Error{Code: e.Code, Message: e.Message, Status: e.Status}
	}
	return nil
}
