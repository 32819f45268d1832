// Command go-clinic serves the clinic with net/http and pgx.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// How long requests in flight may take to end.
const grace = time.Second

// PostgreSQL's code of an undefined table.
const noSuchTable = "42P01"

func main() {
	knobs, err := readKnobs()
	if err != nil {
		fmt.Fprintln(os.Stderr, "go-clinic:", err)
		os.Exit(2)
	}
	if err := serve(knobs); err != nil {
		fmt.Fprintln(os.Stderr, "go-clinic:", err)
		os.Exit(1)
	}
}

// Serves until a signal asks for the end.
func serve(knobs knobs) error {
	asked, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()

	rows, err := openRows(asked, knobs.database)
	if err != nil {
		return explained(err)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", knobs.port))
	if err != nil {
		return fmt.Errorf("%w; set PORT to a free one", err)
	}
	server := http.Server{Handler: handler(rows)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	fmt.Printf("listening on http://%s\n", listener.Addr())

	select {
	case err := <-failed:
		return err
	case <-asked.Done():
	}
	patience, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	// What has not ended by then ends with the process.
	_ = server.Shutdown(patience)
	return nil
}

// explained is what the database said, in one line, and what to do about it.
func explained(err error) error {
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) {
		if refusal.Code == noSuchTable {
			return fmt.Errorf("%s; run targets/clinic.sql in that database first", refusal.Message)
		}
		err = errors.New(refusal.Message)
	}
	// pgx lists its attempts, with and without TLS, a line for each.
	lines := strings.Split(err.Error(), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	return fmt.Errorf("%s; check that PostgreSQL runs there, and the user, password and database in DATABASE_URL", last)
}
