package app

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newSorted makes the manager's client, whose lists come in the order of the objects' names.
func newSorted(config *rest.Config, o client.Options) (client.Client, error) {
	if o.Cache != nil && o.Cache.Reader != nil {
		o.Cache.Reader = sorted{o.Cache.Reader}
	}
	return client.New(config, o)
}

// sorted is a cache whose lists come in the order of namespace and name, as those of the API do. A cache has them in no order:
// what is written object by object would be so in another one each time, and two runs of one simulation would differ.
type sorted struct{ client.Reader }

// List implements client.Reader.
func (s sorted) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := s.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	if items.Kind() != reflect.Slice {
		return fmt.Errorf("a %T has no items", list)
	}
	if items.Len() < 2 {
		return nil
	}
	type at struct {
		namespace, name string
		place           int
	}
	order := make([]at, items.Len())
	for i := range order {
		item := items.Index(i)
		if item.Kind() != reflect.Pointer {
			item = item.Addr()
		}
		o, ok := item.Interface().(client.Object)
		if !ok {
			return fmt.Errorf("a %T holds no objects", list)
		}
		order[i] = at{o.GetNamespace(), o.GetName(), i}
	}
	compare := func(a, b at) int { return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name)) }
	if slices.IsSortedFunc(order, compare) {
		return nil
	}
	slices.SortFunc(order, compare)
	out := reflect.MakeSlice(items.Type(), len(order), len(order))
	for i, from := range order {
		out.Index(i).Set(items.Index(from.place))
	}
	items.Set(out)
	return nil
}
