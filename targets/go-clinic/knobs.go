package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// What an experiment changes: environment variables, checked.
type knobs struct {
	port     int
	database *pgxpool.Config
}

func readKnobs() (knobs, error) {
	port, err := number("PORT", 8080, 0, 65_535)
	if err != nil {
		return knobs{}, err
	}
	pool, err := number("POOL", 10, 1, 10_000)
	if err != nil {
		return knobs{}, err
	}
	// The runtime reads it by itself and passes over what it does not understand.
	if _, err := number("GOMAXPROCS", 1, 1, 1_024); err != nil {
		return knobs{}, err
	}
	url := os.Getenv("DATABASE_URL")
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return knobs{}, errors.New("DATABASE_URL must be postgres://USER[:PASSWORD]@HOST[:PORT]/DATABASE; it is not set, or starts otherwise")
	}
	database, err := pgxpool.ParseConfig(url)
	if err != nil {
		return knobs{}, fmt.Errorf("DATABASE_URL: %w", err)
	}
	database.MaxConns = int32(pool)
	// All of them from the start, and none that leaves in the middle of a measurement.
	database.MinConns = int32(pool)
	database.MaxConnLifetime = 0
	return knobs{port, database}, nil
}

func number(name string, standard, least, most int) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return standard, nil
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < least || value > most {
		return 0, fmt.Errorf("%s is '%s'; it must be a whole number from %d to %d", name, text, least, most)
	}
	return value, nil
}
