package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

//go:embed pages/*.html
var files embed.FS

var templates = template.Must(template.ParseFS(files, "pages/*.html"))

const (
	mostMs   = 600_000
	mostForm = 64 << 10
	mostText = 255
)

// clinic answers from its rows.
type clinic struct{ rows rows }

func handler(rows rows) http.Handler {
	c := clinic{rows}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { page(w, http.StatusOK, "home.html", nil) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /json", delayed)
	mux.HandleFunc("GET /fortunes", c.fortunes)
	mux.HandleFunc("GET /owners/{id}", c.owner)
	mux.HandleFunc("GET /owners/count", c.count)
	mux.HandleFunc("POST /owners/new", c.newOwner)
	return mux
}

func (c clinic) owner(w http.ResponseWriter, r *http.Request) {
	var found *owner
	if id, err := strconv.ParseInt(r.PathValue("id"), 10, 32); err == nil {
		if found, err = c.rows.owner(r.Context(), int32(id)); err != nil {
			broken(w, err)
			return
		}
	}
	if found == nil {
		page(w, http.StatusNotFound, "no-owner.html", nil)
		return
	}
	page(w, http.StatusOK, "owner.html", found)
}

func (c clinic) newOwner(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		text(w, http.StatusBadRequest, "form: "+err.Error())
		return
	}
	form := r.PostForm
	var mistakes strings.Builder
	for _, name := range []string{"first_name", "last_name", "address", "city", "telephone"} {
		if reason := mistake(name, form.Get(name)); reason != "" {
			fmt.Fprintf(&mistakes, "%s: %s\n", name, reason)
		}
	}
	if mistakes.Len() > 0 {
		text(w, http.StatusBadRequest, strings.TrimSuffix(mistakes.String(), "\n"))
		return
	}
	id, err := c.rows.insert(r.Context(), owner{
		FirstName: form.Get("first_name"),
		LastName:  form.Get("last_name"),
		Address:   form.Get("address"),
		City:      form.Get("city"),
		Telephone: form.Get("telephone"),
	})
	if err != nil {
		broken(w, err)
		return
	}
	w.Header().Set("Location", fmt.Sprintf("/owners/%d", id))
	w.WriteHeader(http.StatusFound)
}

// mistake is why a field of the form is bad; empty if it is not.
func mistake(name, value string) string {
	switch {
	case strings.TrimSpace(value) == "":
		return "must not be blank"
	case !utf8.ValidString(value):
		return "must be UTF-8"
	case utf8.RuneCountInString(value) > mostText:
		return fmt.Sprintf("must not be longer than %d characters", mostText)
	case strings.ContainsFunc(value, unicode.IsControl):
		return "must not hold control characters"
	case name == "telephone" && (len(value) > 10 || strings.Trim(value, "0123456789") != ""):
		return "must be up to 10 digits"
	}
	return ""
}

func (c clinic) count(w http.ResponseWriter, r *http.Request) {
	owners, err := c.rows.count(r.Context())
	if err != nil {
		broken(w, err)
		return
	}
	answer(w, map[string]int64{"owners": owners})
}

func (c clinic) fortunes(w http.ResponseWriter, r *http.Request) {
	fortunes, err := c.rows.fortunes(r.Context())
	if err != nil {
		broken(w, err)
		return
	}
	page(w, http.StatusOK, "fortunes.html", fortunes)
}

// delayed answers after the time that is asked for.
func delayed(w http.ResponseWriter, r *http.Request) {
	given := "0"
	if query := r.URL.Query(); query.Has("ms") {
		given = query.Get("ms")
	}
	ms, err := strconv.ParseFloat(given, 64)
	// Written so that what is not a number is refused too.
	if err != nil || !(ms >= 0 && ms <= mostMs) {
		text(w, http.StatusBadRequest, fmt.Sprintf("ms is '%s'; it must be a number from 0 to %d", given, mostMs))
		return
	}
	select {
	case <-time.After(time.Duration(ms * float64(time.Millisecond))):
		answer(w, map[string]string{"message": "Hello, World!"})
	case <-r.Context().Done():
	}
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	// It fails only if the client is gone.
	_ = json.NewEncoder(w).Encode(value)
}

func text(w http.ResponseWriter, status int, words string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, words)
}

// page fills a template before anything is sent, so that a failure can still be said.
func page(w http.ResponseWriter, status int, name string, data any) {
	var html bytes.Buffer
	if err := templates.ExecuteTemplate(&html, name, data); err != nil {
		text(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(html.Bytes())
}

func broken(w http.ResponseWriter, err error) {
	if errors.Is(err, errCrowded) {
		text(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	text(w, http.StatusInternalServerError, "the database failed: "+err.Error())
}
