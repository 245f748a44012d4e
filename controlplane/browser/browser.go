// Package browser drives a real Chromium, for tests of the page and for its pictures.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Names under which Chromium is looked for; KERF_BROWSER names another.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// ErrNone is the error where there is no browser; make browser installs one on Debian.
var ErrNone = errors.New("there is no Chromium on this computer: run make browser (Debian, Ubuntu), or set KERF_BROWSER to the path of one")

// Browser is a running Chromium with one tab.
type Browser struct {
	ctx  context.Context
	stop []context.CancelFunc

	mu         sync.Mutex
	complaints []string
}

// Open starts one.
//
// Errors: ErrNone; a browser that does not start.
func Open(ctx context.Context) (*Browser, error) {
	path := os.Getenv("KERF_BROWSER")
	for _, name := range names {
		if path == "" {
			path, _ = exec.LookPath(name)
		}
	}
	if path == "" {
		return nil, ErrNone
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("disable-gpu", true), chromedp.WSURLReadTimeout(time.Minute))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to start as root with one
	}
	b := &Browser{}
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	b.stop = append(b.stop, stop)
	b.ctx, stop = chromedp.NewContext(ctx)
	b.stop = append(b.stop, stop)
	if err := chromedp.Listen(b.ctx, b.hear); err != nil {
		b.Close()
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return b, nil
}

// hear notes what the page complains about.
func (b *Browser) hear(e any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, fmt.Sprintf("%+v", e.ExceptionDetails))
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" {
			b.complaints = append(b.complaints, fmt.Sprintf("%+v", e.Args))
		}
	}
}

// Complaints are what the page wrote to the console as errors, and its exceptions.
func (b *Browser) Complaints() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.complaints)
}

// Close ends it.
func (b *Browser) Close() {
	for _, stop := range slices.Backward(b.stop) {
		stop()
	}
}

// View is how a page is looked at.
type View struct {
	Width, Height int64
	Dark          bool
}

// Look sets the size and the scheme of colours.
func (b *Browser) Look(v View) error {
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}
	err := chromedp.Do(b.ctx, chromedp.EmulateViewport(v.Width, v.Height), chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, media)
		return err
	}))
	if err != nil {
		return fmt.Errorf("setting the size of the window to %d×%d: %w", v.Width, v.Height, err)
	}
	return nil
}

// Go opens an address and waits until the page shows a cluster.
func (b *Browser) Go(url string) error {
	if err := chromedp.Do(b.ctx, chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("opening %s: %w", url, err)
	}
	return b.Await(time.Minute, `document.body.dataset.ready === 'yes'`)
}

// Eval evaluates a JavaScript expression, which may be a promise.
func Eval[T any](b *Browser, expression string) (T, error) {
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return v, fmt.Errorf("evaluating %s in the page: %w", expression, err)
	}
	return v, nil
}

// Await waits until a JavaScript expression is true.
func (b *Browser) Await(within time.Duration, expression string) error {
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(within))); err != nil {
		text, _ := Eval[string](b, "document.body.innerText")
		return fmt.Errorf("waiting for %s in the page: %w\nthe page says:\n%s", expression, err, text)
	}
	return nil
}

// Picture writes what is seen as PNG.
func (b *Browser) Picture(file string) error {
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("taking the picture %s: %w", file, err)
	}
	if err := os.WriteFile(file, png, 0o644); err != nil {
		return fmt.Errorf("writing a picture: %w", err)
	}
	return nil
}

// Key presses keys on an element, one after the other.
func (b *Browser) Key(selector string, keys ...string) error {
	for _, key := range keys {
		const press = `(() => { const e = document.querySelector(%q); e.focus(); e.dispatchEvent(new KeyboardEvent('keydown', { key: %q, bubbles: true })); return true; })()`
		if _, err := Eval[bool](b, fmt.Sprintf(press, selector, key)); err != nil {
			return err
		}
	}
	return nil
}

// Click clicks on the first element that a selector finds.
func (b *Browser) Click(selector string) error {
	if err := chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		return fmt.Errorf("clicking on %s: %w", selector, err)
	}
	return nil
}

// Choose takes a value of a list.
func (b *Browser) Choose(id, value string) error {
	_, err := Eval[bool](b, fmt.Sprintf(`(() => { const e = document.getElementById(%q); e.value = %q; e.dispatchEvent(new Event('change')); return true; })()`, id, value))
	return err
}
