/// Days from 1 January 1970 to a day of the Gregorian calendar, negative before it; none if there is no such day. Counts years from
/// March, as the inverse [`crate::Moment::date`] does.
pub fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    /// Days from 1 March of the year 0.
    const DAYS_TO_1970: i64 = 719_468;
    let leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(leaps),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=12).contains(&month) || !(1..=days).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - DAYS_TO_1970)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_follows_the_one_before() {
        let mut next = days_since_1970(-401, 1, 1).expect("it is a day");
        for year in -401..2500 {
            for month in 1..=12 {
                let days = (1..=32).map_while(|day| days_since_1970(year, month, day));
                next = days.fold(next, |next, day| {
                    assert_eq!(day, next, "{year}-{month}");
                    day + 1
                });
            }
            assert_eq!(days_since_1970(year + 1, 1, 1), Some(next), "{year}");
        }
        assert_eq!(days_since_1970(1970, 1, 1), Some(0));
        for (month, day) in [(0, 1), (13, 1), (2, 30), (4, 31), (1, 0)] {
            assert_eq!(days_since_1970(2024, month, day), None, "{month}-{day}");
        }
    }
}
