//! Names shortened to a few columns that stay distinct.

use super::shorten;
use crate::styled::{shown, width};
use std::collections::BTreeMap;

/// Names in at most this many columns each, all different if the names are, provided there are eight columns: names
/// that are too long lose the words that all of them begin or end with, then their middle, and those that still look
/// alike are numbered.
#[must_use]
pub fn labels(names: &[&str], columns: usize) -> Vec<String> {
    let all: Vec<String> = names.iter().map(|name| shown((*name).into()).into_owned()).collect();
    let fits = |labels: &[String]| labels.iter().all(|label| width(label) <= columns);
    let mut short = all.clone();
    if !fits(&short) {
        let members: Vec<usize> = (0..all.len()).collect();
        without_common_words(&all, &members, &mut short);
        short.iter_mut().for_each(|label| *label = shorten(label, columns));
    }
    // Those that look alike also lose what only they have in common.
    for group in look_alikes(names, &short) {
        without_common_words(&all, &group, &mut short);
        for at in group {
            if let Some(label) = short.get_mut(at) {
                *label = shorten(label, columns);
            }
        }
    }
    for group in look_alikes(names, &short) {
        number(names, &group, &mut short, columns);
    }
    short
}

/// Groups of different names whose labels are equal.
fn look_alikes(names: &[&str], labels: &[String]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, label) in labels.iter().enumerate() {
        groups.entry(label).or_default().push(at);
    }
    let differ =
        |group: &Vec<usize>| group.iter().any(|&at| names.get(at) != group.first().and_then(|&at| names.get(at)));
    groups.into_values().filter(differ).collect()
}

/// Gives these names labels without the words that all of them begin and end with; each keeps at least one word.
fn without_common_words(names: &[String], members: &[usize], labels: &mut [String]) {
    let words: Vec<Vec<&str>> =
        members.iter().filter_map(|&at| names.get(at)).map(|name| name.split(' ').collect()).collect();
    let Some(first) = words.first() else { return };
    // A single name has everything in common with itself, and its last word alone would mean nothing.
    if words.iter().all(|one| one == first) {
        return;
    }
    let spare = words.iter().map(Vec::len).min().unwrap_or(0).saturating_sub(1);
    let alike = |of: &dyn Fn(&Vec<&str>, usize) -> Option<String>, most: usize| {
        (0..most).take_while(|&at| words.iter().all(|one| of(one, at) == of(first, at))).count()
    };
    let before = alike(&|one, at| one.get(at).map(ToString::to_string), spare);
    let behind = alike(&|one, at| one.iter().rev().nth(at).map(ToString::to_string), spare.saturating_sub(before));
    for (&at, one) in members.iter().zip(&words) {
        let kept: Vec<&str> =
            one.iter().skip(before).take(one.len().saturating_sub(before).saturating_sub(behind)).copied().collect();
        if let Some(label) = labels.get_mut(at) {
            *label = kept.join(" ");
        }
    }
}

/// Gives each different name of a group a number that no other label ends with.
fn number(names: &[&str], group: &[usize], labels: &mut [String], columns: usize) {
    let mut given: BTreeMap<&str, String> = BTreeMap::new();
    for &at in group {
        let (Some(name), Some(label)) = (names.get(at), labels.get(at)) else { continue };
        let mark = (1usize..)
            .map(|number| format!("#{number}"))
            .map(|mark| format!("{}{mark}", shorten(label, columns.saturating_sub(mark.len()))));
        let free = |one: &String| !labels.contains(one) && !given.values().any(|other| other == one);
        let Some(label) = given.get(name).cloned().or_else(|| mark.take(MOST_NUMBERS).find(free)) else { continue };
        given.insert(name, label.clone());
        if let Some(old) = labels.get_mut(at) {
            *old = label;
        }
    }
}

/// Numbers that are tried before two labels are left equal.
const MOST_NUMBERS: usize = 10_000;
