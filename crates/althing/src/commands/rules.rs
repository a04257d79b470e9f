//! `althing rules`

use althing_kernel::Rule;
use serde_json::json;

use crate::app::App;
use crate::cli::Rules;
use crate::failure::Failure;

pub(crate) fn run(app: &App, args: &Rules) -> Result<(), Failure> {
    let wanted = args.id.as_ref();
    let fits = |rule: &&Rule| wanted.is_none_or(|id| rule.id().eq_ignore_ascii_case(id));
    let rules: Vec<Rule> = Rule::ALL.iter().filter(fits).copied().collect();
    if let (Some(id), true) = (wanted, rules.is_empty()) {
        return Err(Failure::not_found(format!("there is no rule {id}")));
    }
    if app.out.json {
        let rows: Vec<_> = rules
            .iter()
            .map(
                |rule| json!({ "rule": rule.id(), "text": rule.text(), "way_out": rule.way_out() }),
            )
            .collect();
        return app.out.value(&rows);
    }
    for rule in rules {
        app.out.line(format!("{}  {}\n            {}", rule.id(), rule.text(), rule.way_out()))?;
    }
    Ok(())
}
