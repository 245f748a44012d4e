package kubesim

import (
	"maps"
	"net/http"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// readPatch makes of a request what it does to an object.
//
// Errors: 415 for kinds of patches that the resource does not take.
func readPatch(r *http.Request, res *resource) (func(*object) (sent, error), error) {
	kind := types.PatchType(mediaType(r))
	patch, err := readBody(r)
	if err != nil {
		return nil, err
	}
	var apply func(old []byte) ([]byte, error)
	switch kind {
	case types.MergePatchType:
		var change map[string]any
		if kjson.Unmarshal(patch, &change) == nil && change != nil {
			return func(old *object) (sent, error) { return sent{content: mergeInto(old.content, change)}, nil }, nil
		}
		apply = func(old []byte) ([]byte, error) { return jsonpatch.MergePatch(old, patch) }
	case types.JSONPatchType:
		ops, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, apierrors.NewBadRequest("error decoding patch: " + err.Error())
		}
		apply = func(old []byte) ([]byte, error) {
			now, err := ops.Apply(old)
			if err != nil { // a test that fails is among these
				return nil, unprocessable(err)
			}
			return now, nil
		}
	case types.StrategicMergePatchType:
		typed := res.typed()
		if typed == nil {
			return nil, unsupported(patchKinds(res)...)
		}
		apply = func(old []byte) ([]byte, error) { return strategicpatch.StrategicMergePatch(old, patch, typed) }
	default:
		return nil, unsupported(patchKinds(res)...)
	}
	return func(old *object) (sent, error) {
		now, err := apply(old.raw())
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return sent{}, err
		}
		if err != nil {
			return sent{}, apierrors.NewBadRequest(err.Error())
		}
		c, err := decode(now)
		return sent{content: c}, err
	}, nil
}

// mergeInto is an object with a merge patch applied (RFC 7386). It shares with the old one what the patch does not mention, but has
// metadata of its own, of which fields may be set.
func mergeInto(old content, patch map[string]any) content {
	out := merge(old, patch)
	switch meta := out["metadata"].(type) {
	case map[string]any:
		if shared(meta, old["metadata"]) {
			out["metadata"] = maps.Clone(meta)
		}
	default:
		out["metadata"] = map[string]any{}
	}
	return out
}

func merge(old, patch map[string]any) map[string]any {
	out := make(map[string]any, len(old)+len(patch))
	maps.Copy(out, old)
	for name, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(out, name)
		case map[string]any:
			was, _ := out[name].(map[string]any)
			out[name] = merge(was, v)
		default:
			out[name] = v
		}
	}
	return out
}

// patchKinds are the kinds of patches that a real server takes. Server-side apply is not simulated.
func patchKinds(r *resource) []string {
	out := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if r.custom == nil {
		out = append(out, string(types.StrategicMergePatchType))
	}
	return append(out, string(types.ApplyPatchType))
}

func unprocessable(err error) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: "the server rejected our request due to an error in our request: " + err.Error(),
	}}
}
