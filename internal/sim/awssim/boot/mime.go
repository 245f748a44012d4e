package boot

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
)

// part is one piece of user data.
type part struct {
	mediaType string // text/x-shellscript, application/node.eks.aws, …; empty when nothing says
	body      string
}

// maxUnpacked bounds what compressed user data may unfold to, in bytes.
const maxUnpacked = 1 << 20

// readParts splits user data into its MIME parts. What is not a MIME message is one part without a media type.
func readParts(userData []byte) ([]part, error) {
	userData, err := unpack(userData)
	if err != nil {
		return nil, err
	}
	if !isMIME(userData) {
		return []part{{body: string(userData)}}, nil
	}
	message, err := mail.ReadMessage(bytes.NewReader(userData))
	if err != nil {
		return nil, fmt.Errorf("the user data looks like MIME but its header cannot be read: %w", err)
	}
	return readEntity(message.Header.Get("Content-Type"), message.Header.Get("Content-Transfer-Encoding"), message.Body, 0)
}

func isMIME(userData []byte) bool {
	head := strings.ToLower(string(userData[:min(len(userData), 512)]))
	head = strings.TrimLeft(head, " \t\r\n")
	return strings.HasPrefix(head, "mime-version:") || strings.HasPrefix(head, "content-type:")
}

// maxNesting bounds multiparts within multiparts.
const maxNesting = 5

func readEntity(contentType, encoding string, body io.Reader, depth int) ([]part, error) {
	if contentType == "" {
		contentType = "text/plain"
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, fmt.Errorf("the content type %q cannot be read: %w", contentType, err)
	}
	if !strings.HasPrefix(media, "multipart/") {
		b, err := decodeTransfer(encoding, body)
		if err != nil {
			return nil, fmt.Errorf("a part of type %s cannot be read: %w", media, err)
		}
		return []part{{mediaType: media, body: string(b)}}, nil
	}
	if depth >= maxNesting {
		return nil, errors.New("multiparts are nested too deep")
	}
	if params["boundary"] == "" {
		return nil, errors.New("the multipart content type names no boundary")
	}
	var out []part
	r := multipart.NewReader(body, params["boundary"])
	for {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("MIME part %d cannot be read: %w", len(out)+1, err)
		}
		inner, err := readEntity(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
}

func decodeTransfer(encoding string, body io.Reader) ([]byte, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	}
	b, err := io.ReadAll(io.LimitReader(body, maxUnpacked))
	if err != nil {
		return nil, err
	}
	return unpack(b)
}

// unpack undoes gzip, which both cloud-init and nodeadm accept.
func unpack(b []byte) ([]byte, error) {
	if !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		return b, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("the user data looks compressed but is not gzip: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(r, maxUnpacked))
	if err != nil {
		return nil, fmt.Errorf("the compressed user data cannot be unpacked: %w", err)
	}
	return out, nil
}
