package userdata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
)

const (
	typeShell      = `text/x-shellscript; charset="us-ascii"`
	typeNodeConfig = "application/node.eks.aws"
)

// part is one part of a MIME document. The body is kept as it was, in whatever transfer encoding the header says.
type part struct {
	header textproto.MIMEHeader
	body   string
}

func newPart(contentType, body string) part {
	return part{header: textproto.MIMEHeader{"Content-Type": {contentType}}, body: body}
}

// isMIME reports whether a text begins with the header of a MIME document.
func isMIME(text string) bool {
	line, _, _ := strings.Cut(strings.TrimLeft(text, " \t\n"), "\n")
	name, _, ok := strings.Cut(line, ":")
	return ok && (strings.EqualFold(strings.TrimSpace(name), "MIME-Version") || strings.EqualFold(strings.TrimSpace(name), "Content-Type"))
}

// parseMIME splits a document into its parts; one that is not multipart is a part by itself.
func parseMIME(text string) ([]part, error) {
	msg, err := mail.ReadMessage(strings.NewReader(strings.TrimLeft(text, " \t\n")))
	if err != nil {
		return nil, fmt.Errorf("spec.userData looks like a MIME document, but its header can't be read: %w", err)
	}
	contentType := msg.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("spec.userData is a MIME document whose Content-Type %q can't be read: %w", contentType, err)
	}
	body, err := io.ReadAll(msg.Body)
	if err != nil {
		return nil, fmt.Errorf("reading spec.userData: %w", err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		header := textproto.MIMEHeader(maps.Clone(msg.Header))
		header.Del("Mime-Version")
		return []part{{header: header, body: string(body)}}, nil
	}
	boundary := params["boundary"]
	if boundary == "" {
		return nil, errors.New("spec.userData is a MIME multipart document without a boundary in its Content-Type")
	}
	parts, err := readParts(multipart.NewReader(bytes.NewReader(body), boundary))
	if err == nil && len(parts) == 0 && !hasLine(string(body), "--"+boundary+"--") {
		return nil, fmt.Errorf("spec.userData is a MIME multipart document whose Content-Type says boundary=%q, but no line of it is %q, which each part begins with", boundary, "--"+boundary)
	}
	return parts, err
}

func readParts(r *multipart.Reader) ([]part, error) {
	var out []part
	for {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("spec.userData is a MIME document whose part %d can't be read: %w", len(out)+1, err)
		}
		body, err := io.ReadAll(p)
		if err != nil {
			return nil, fmt.Errorf("spec.userData is a MIME document whose part %d does not end: %w", len(out)+1, err)
		}
		out = append(out, part{header: p.Header, body: string(body)})
	}
}

func hasLine(text, line string) bool {
	for l := range strings.Lines(text) {
		if strings.TrimRight(l, " \t\n") == line {
			return true
		}
	}
	return false
}

// formatMIME writes the document in which cloud-init and nodeadm look for their parts.
func formatMIME(parts []part) string {
	boundary := freeBoundary(parts)
	var b bytes.Buffer
	fmt.Fprintf(&b, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=%q\n\n", boundary)
	for _, p := range parts {
		fmt.Fprintf(&b, "--%s\n", boundary)
		for _, k := range slices.Sorted(maps.Keys(p.header)) {
			for _, v := range p.header[k] {
				fmt.Fprintf(&b, "%s: %s\n", k, v)
			}
		}
		b.WriteByte('\n')
		b.WriteString(strings.TrimSuffix(p.body, "\n"))
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "--%s--\n", boundary)
	return b.String()
}

// freeBoundary is "//" as long as no part has a line that begins with it.
func freeBoundary(parts []part) string {
	boundary := "//"
	for {
		taken := slices.ContainsFunc(parts, func(p part) bool {
			return strings.HasPrefix(p.body, "--"+boundary) || strings.Contains(p.body, "\n--"+boundary)
		})
		if !taken {
			return boundary
		}
		boundary += "/kerf//"
	}
}
