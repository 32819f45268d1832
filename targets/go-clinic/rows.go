package main

import (
	"context"
	"errors"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// How long a request waits for a connection.
const waitLimit = 30 * time.Second

// No connection came free in time.
var errCrowded = errors.New("no database connection came free in time")

type owner struct {
	ID                                            int32
	FirstName, LastName, Address, City, Telephone string
	Pets                                          []pet
}

type pet struct {
	id                    int32
	Name, Kind, BirthDate string
	Visits                []visit
}

type visit struct{ Date, Description string }

type fortune struct {
	ID      int32
	Message string
}

// rows asks for the clinic's rows in PostgreSQL. pgx prepares each statement once for each connection.
type rows struct{ pool *pgxpool.Pool }

// openRows opens all connections, so that the first requests do not wait for them and a refusal is seen now.
func openRows(ctx context.Context, config *pgxpool.Config) (rows, error) {
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return rows{}, err
	}
	for range config.MaxConns {
		connection, err := pool.Acquire(ctx)
		if err != nil {
			return rows{}, err
		}
		defer connection.Release()
		if _, err = connection.Exec(ctx, "SELECT id FROM owners LIMIT 1"); err != nil {
			return rows{}, err
		}
	}
	return rows{pool}, nil
}

// acquire takes a connection of the pool; the caller releases it.
func (r rows) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, waitLimit, errCrowded)
	defer cancel()
	connection, err := r.pool.Acquire(ctx)
	if err != nil && context.Cause(ctx) == errCrowded {
		return nil, errCrowded
	}
	return connection, err
}

// owner reads one owner with pets and visits, by two statements on one connection; nil if there is none.
func (r rows) owner(ctx context.Context, id int32) (*owner, error) {
	connection, err := r.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer connection.Release()

	// PetClinic lets most columns be NULL; an absent text reads as an empty one.
	const owners = `SELECT coalesce(first_name, ''), last_name, coalesce(address, ''), coalesce(city, ''), coalesce(telephone, '')
		FROM owners WHERE id = $1`
	found := owner{ID: id}
	err = connection.QueryRow(ctx, owners, id).
		Scan(&found.FirstName, &found.LastName, &found.Address, &found.City, &found.Telephone)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}

	const pets = `SELECT p.id, coalesce(p.name, ''), coalesce(p.birth_date::text, ''), coalesce(t.name, ''), v.visit_date::text,
		coalesce(v.description, '')
		FROM pets p JOIN types t ON t.id = p.type_id LEFT JOIN visits v ON v.pet_id = p.id
		WHERE p.owner_id = $1 ORDER BY p.id, v.id`
	answer, err := connection.Query(ctx, pets, id)
	if err != nil {
		return nil, err
	}
	var one pet
	var date *string
	var description string
	_, err = pgx.ForEachRow(answer, []any{&one.id, &one.Name, &one.BirthDate, &one.Kind, &date, &description}, func() error {
		if n := len(found.Pets); n == 0 || found.Pets[n-1].id != one.id {
			found.Pets = append(found.Pets, one)
		}
		if date != nil {
			last := &found.Pets[len(found.Pets)-1]
			last.Visits = append(last.Visits, visit{*date, description})
		}
		return nil
	})
	return &found, err
}

// insert commits one new row and gives its id.
func (r rows) insert(ctx context.Context, o owner) (id int32, err error) {
	err = r.one(ctx, &id, `INSERT INTO owners (first_name, last_name, address, city, telephone)
		VALUES ($1, $2, $3, $4, $5) RETURNING id`, o.FirstName, o.LastName, o.Address, o.City, o.Telephone)
	return id, err
}

func (r rows) count(ctx context.Context) (owners int64, err error) {
	err = r.one(ctx, &owners, "SELECT count(*) FROM owners")
	return owners, err
}

// one asks for one value.
func (r rows) one(ctx context.Context, value any, statement string, arguments ...any) error {
	connection, err := r.acquire(ctx)
	if err != nil {
		return err
	}
	defer connection.Release()
	return connection.QueryRow(ctx, statement, arguments...).Scan(value)
}

// fortunes reads all fortunes and adds one, made for this request, in the order of their words.
func (r rows) fortunes(ctx context.Context) ([]fortune, error) {
	connection, err := r.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer connection.Release()
	// An error of the question comes out with the rows.
	answer, _ := connection.Query(ctx, "SELECT id, message FROM fortunes")
	fortunes, err := pgx.CollectRows(answer, pgx.RowToStructByPos[fortune])
	if err != nil {
		return nil, err
	}
	fortunes = append(fortunes, fortune{0, "Additional fortune added at request time."})
	sort.Slice(fortunes, func(a, b int) bool { return fortunes[a].Message < fortunes[b].Message })
	return fortunes, nil
}
