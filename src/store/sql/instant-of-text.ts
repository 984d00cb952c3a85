/** Date-times in texts, as SQLite reads them: in the server's own tables, and in those of others. */

/**
 * The instant that a text means. SQLite converts the seconds to UTC; the fraction is appended unchanged, because SQLite
 * would round it. The patterns refuse texts that SQLite accepts as a time and RFC 3339 doesn't; SQLite reads 30 February
 * as 2 March.
 */
export function instantOfText(isText: string, value: string): string {
  const text = `upper(${value})`
  const zone = `case when ${text} glob '*Z' then 'Z' else substr(${text}, -6) end`
  const fraction = `case when substr(${text}, 20, 1) = '.'
    then substr(${text}, 21, max(0, length(${text}) - 20 - length(${zone}))) else '' end`
  return `case when ${isText}
    and ${text} glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][T ][0-9][0-9]:[0-9][0-9]:[0-9][0-9]*'
    and substr(${text}, 1, 10) not in ('0000-01-01', '9999-12-31') and substr(${text}, 12, 2) < '24'
    and date(substr(${text}, 1, 10), '+0 days') = substr(${text}, 1, 10)
    and (${zone} = 'Z' or ${zone} glob '[+-][0-9][0-9]:[0-9][0-9]')
    and (length(${text}) = 19 + length(${zone})
      or (substr(${text}, 20, 1) = '.' and ${fraction} <> '' and ${fraction} not glob '*[^0-9]*'))
    then strftime('%Y-%m-%dT%H:%M:%S', substr(${text}, 1, 19) || ${zone})
      || '.' || substr((${fraction}) || '000', 1, 3) || 'Z' end`
}
