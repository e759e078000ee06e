//! The CSV formats of other shorteners' exports.

use std::io::Read;

use csv::{Reader, ReaderBuilder, StringRecord};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::import::{ImportRow, RowProblem};
use crate::{
    Error, Result,
    links::{ClickLimit, RedirectCode, Short, Tags, Target},
    names::names,
    passwords::PasswordHash,
};

/// The format of an export, by the program that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `lodge admin export`.
    Lodge,
    /// The columns of YOURLS' `url` table, as its export plugins and database tools write them.
    Yourls,
    /// The web client's export, or the file that `short-url:import` reads.
    Shlink,
    /// The columns of Kutt's `links` table and API.
    Kutt,
    /// Bitly's link export, old and new.
    Bitly,
}

names!(Format {
    Lodge = "lodge",
    Yourls = "yourls",
    Shlink = "shlink",
    Kutt = "kutt",
    Bitly = "bitly",
});

/// The column names of one format, folded to lower-case letters and digits; the first one present in a file is
/// used.
#[derive(Default)]
struct Names {
    short: &'static [&'static str],
    /// Columns with a whole short URL, whose last path segment is the short.
    short_url: &'static [&'static str],
    target: &'static [&'static str],
    created_at: &'static [&'static str],
    clicks: &'static [&'static str],
    tags: &'static [&'static str],
    expires_at: &'static [&'static str],
    max_clicks: &'static [&'static str],
    /// Columns that restrict access in ways that Lodge does not support. A row that uses one is refused, so that an
    /// import never makes a restricted link public.
    restricting: &'static [&'static str],
}

impl Format {
    fn names(self) -> Names {
        match self {
            Self::Lodge => Names {
                short: &["short"],
                target: &["target"],
                created_at: &["createdat"],
                clicks: &["clicks"],
                tags: &["tags"],
                expires_at: &["expiresat"],
                max_clicks: &["maxclicks"],
                ..Names::default()
            },
            Self::Yourls => Names {
                short: &["keyword"],
                short_url: &["shorturl"],
                target: &["url", "longurl"],
                created_at: &["timestamp", "date"],
                clicks: &["clicks"],
                ..Names::default()
            },
            Self::Shlink => Names {
                short: &["shortcode"],
                short_url: &["shorturl"],
                target: &["longurl"],
                created_at: &["createdat", "datecreated"],
                clicks: &["visits", "visitscount"],
                tags: &["tags"],
                expires_at: &["validuntil"],
                max_clicks: &["maxvisits"],
                restricting: &["validsince"],
            },
            Self::Kutt => Names {
                short: &["address"],
                short_url: &["link", "shorturl"],
                target: &["target"],
                created_at: &["createdat"],
                clicks: &["visitcount", "visits"],
                expires_at: &["expirein"],
                restricting: &["password", "banned"],
                ..Names::default()
            },
            Self::Bitly => Names {
                short: &["backhalf", "keyword"],
                short_url: &["bitlink", "shortlink", "link", "shorturl", "id"],
                target: &["longurl", "destinationurl", "destination"],
                created_at: &["createdat", "created", "datecreated", "createddate"],
                clicks: &["clicks", "totalclicks", "engagements", "totalengagements"],
                tags: &["tags"],
                expires_at: &["expirationat"],
                restricting: &["archived"],
                ..Names::default()
            },
        }
    }
}

/// A reader of the rows of a file.
pub struct Rows<R> {
    reader: Reader<R>,
    columns: Columns,
    record: StringRecord,
}

/// The indexes of the columns.
struct Columns {
    short: usize,
    short_is_url: bool,
    target: usize,
    created_at: Option<usize>,
    clicks: Option<usize>,
    tags: Option<usize>,
    expires_at: Option<usize>,
    max_clicks: Option<usize>,
    restricting: Vec<usize>,
    /// Only in Lodge's own exports.
    redirect: Option<usize>,
    clicks_used: Option<usize>,
    password_hash: Option<usize>,
}

impl<R: Read> Rows<R> {
    /// Reads the header, which names the columns; fields are separated by `delimiter`.
    pub fn new(format: Format, input: R, delimiter: u8) -> Result<Self> {
        let mut reader =
            ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(input);
        let header = reader
            .headers()
            .map_err(|error| Error::invalid("file", format!("is not CSV: {error}")))?;
        let columns = Columns::find(format, header)?;
        Ok(Self { reader, columns, record: StringRecord::new() })
    }

    /// Returns the next row; `None` at the end.
    pub fn next_row(&mut self) -> Option<Result<ImportRow, RowProblem>> {
        match self.reader.read_record(&mut self.record) {
            Ok(false) => None,
            Ok(true) => {
                let line = self.record.position().map_or(0, csv::Position::line);
                Some(
                    self.columns
                        .row(line, &self.record)
                        .map_err(|error| RowProblem::of(line, &error)),
                )
            }
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                Some(Err(RowProblem { line, reason: format!("is not CSV: {error}") }))
            }
        }
    }
}

/// Detects the delimiter of a file from its first line.
pub fn delimiter_of(first_line: &str) -> u8 {
    let count = |delimiter: u8| first_line.bytes().filter(|byte| *byte == delimiter).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|delimiter| count(*delimiter)).unwrap_or(b',')
}

impl Columns {
    fn find(format: Format, header: &StringRecord) -> Result<Self> {
        let folded: Vec<String> = header.iter().map(fold).collect();
        let place = |names: &[&str]| {
            names.iter().find_map(|name| folded.iter().position(|column| column == name))
        };
        let names = format.names();
        let (short, short_url) = (place(names.short), place(names.short_url));
        let missing = |what: &str, names: &[&str]| {
            Error::invalid(
                "file",
                format!("has no column for the {what}; it is named {}", names.join(" or ")),
            )
        };
        let own = |name: &str| if format == Format::Lodge { place(&[name]) } else { None };
        Ok(Self {
            short_is_url: short.is_none(),
            short: short
                .or(short_url)
                .ok_or_else(|| missing("short name", &[names.short, names.short_url].concat()))?,
            target: place(names.target).ok_or_else(|| missing("target", names.target))?,
            created_at: place(names.created_at),
            clicks: place(names.clicks),
            tags: place(names.tags),
            expires_at: place(names.expires_at),
            max_clicks: place(names.max_clicks),
            restricting: names.restricting.iter().filter_map(|name| place(&[name])).collect(),
            redirect: own("redirect"),
            clicks_used: own("clicksused"),
            password_hash: own("passwordhash"),
        })
    }

    fn row(&self, line: u64, record: &StringRecord) -> Result<ImportRow> {
        let text = |place: Option<usize>| {
            place.and_then(|place| record.get(place)).map(str::trim).filter(|text| !text.is_empty())
        };
        let restricts = |text: &str| !matches!(text, "0" | "false" | "f" | "FALSE" | "NULL");
        if self.restricting.iter().any(|place| text(Some(*place)).is_some_and(restricts)) {
            return Err(Error::invalid(
                "row",
                "restricts access in a way that Lodge does not support; create this link by hand",
            ));
        }
        let short = text(Some(self.short)).ok_or_else(|| Error::invalid("short", "is missing"))?;
        let short = if self.short_is_url {
            short.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
        } else {
            short
        };
        let number = |field, place| text(place).map(|text| number(field, text)).transpose();
        let instant = |field, place| text(place).map(|text| instant(field, text)).transpose();
        let mut click_limit =
            number("max_clicks", self.max_clicks)?.map(ClickLimit::new).transpose()?;
        if let Some(limit) = &mut click_limit {
            limit.used = number("clicks_used", self.clicks_used)?.unwrap_or(0).min(limit.max);
        }
        let redirect = number("redirect", self.redirect)?
            .map(|code| RedirectCode::try_from(u16::try_from(code).unwrap_or(0)))
            .transpose()?;
        let short = Short::parse(short)?;
        let target =
            text(Some(self.target)).ok_or_else(|| Error::invalid("target", "is missing"))?;
        let password =
            text(self.password_hash).map(|hash| PasswordHash::parse("password_hash", hash));
        let tags = text(self.tags).map(|text| Tags::parse_list(&text.replace(['|', ';'], ",")));
        Ok(ImportRow {
            line,
            short,
            target: Target::parse(target)?,
            redirect: redirect.unwrap_or_default(),
            created_at: instant("created_at", self.created_at)?,
            expires_at: instant("expires_at", self.expires_at)?,
            click_limit,
            password: password.transpose()?,
            tags: tags.transpose()?.unwrap_or_default(),
            clicks: number("clicks", self.clicks)?.unwrap_or(0),
        })
    }
}

fn fold(column: &str) -> String {
    column.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

fn number(field: &'static str, text: &str) -> Result<u64> {
    text.parse().map_err(|_| Error::invalid(field, format!("{text:?} is not a number")))
}

/// Parses a time: RFC 3339, `2026-01-31 12:00:00` in UTC, or seconds since 1970.
fn instant(field: &'static str, text: &str) -> Result<Timestamp> {
    let seconds = || text.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    let civil = || {
        text.parse::<DateTime>()
            .ok()
            .and_then(|at| at.to_zoned(TimeZone::UTC).ok())
            .map(|at| at.timestamp())
    };
    let at = text.parse::<Timestamp>().ok().or_else(seconds).or_else(civil);
    let whole = at.and_then(|at| Timestamp::from_millisecond(at.as_millisecond()).ok());
    whole.ok_or_else(|| Error::invalid(field, format!("{text:?} is not a time")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(format: Format, text: &str) -> Vec<Result<ImportRow, RowProblem>> {
        let delimiter = delimiter_of(text.lines().next().unwrap());
        let mut rows = Rows::new(format, text.as_bytes(), delimiter).unwrap();
        std::iter::from_fn(|| rows.next_row()).collect()
    }

    #[test]
    fn exports_of_other_shorteners_are_read() {
        let files = [
            (
                Format::Yourls,
                "keyword,url,title,timestamp,ip,clicks\ngg,http://google.com,Google,2024-05-01 10:00:00,1.2.3.4,7\n",
            ),
            (
                Format::Shlink,
                "createdAt,shortUrl,shortCode,domain,longUrl,title,tags,visits\n2024-05-01T12:00:00+02:00,https://s.test/gg,gg,,http://google.com,,,7\n",
            ),
            (
                Format::Shlink,
                "Long URL;Tags;Domain;Short code;Title;Created at;Visits\nhttp://google.com;;;gg;;2024-05-01T10:00:00Z;7\n",
            ),
            (
                Format::Kutt,
                "id,address,target,description,visit_count,created_at\n1,gg,http://google.com,,7,2024-05-01T10:00:00.000Z\n",
            ),
            (
                Format::Bitly,
                "Bitlink,Title,Long URL,Created,Tags,Engagements\nbit.ly/gg,Google,http://google.com,1714557600,,7\n",
            ),
        ];
        for (format, text) in files {
            let row = rows(format, text).remove(0).unwrap();
            assert_eq!(
                (row.short.as_str(), row.target.as_str(), row.clicks),
                ("gg", "http://google.com/", 7),
                "{format:?}"
            );
            assert_eq!(
                row.created_at.map(|at| at.to_string()).as_deref(),
                Some("2024-05-01T10:00:00Z"),
                "{format:?}"
            );
        }
    }

    #[test]
    fn a_bad_row_is_reported_and_the_others_are_read() {
        let read = rows(
            Format::Yourls,
            "keyword,url\ngg,google.com\nad/min,google.com\nhh,javascript:x\nii,example.org\n",
        );
        let lines: Vec<_> =
            read.iter().filter_map(|row| row.as_ref().err()).map(|problem| problem.line).collect();
        assert_eq!((read.len(), lines), (4, vec![3, 4]));
    }

    #[test]
    fn restricted_links_are_not_imported() {
        let read = rows(
            Format::Kutt,
            "address,target,password,banned\ngg,google.com,,false\nhh,google.com,$2b$x,false\nii,google.com,,true\n",
        );
        assert_eq!(read.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn a_file_without_the_columns_is_refused() {
        assert!(Rows::new(Format::Yourls, "a,b\n1,2\n".as_bytes(), b',').is_err());
    }
}
