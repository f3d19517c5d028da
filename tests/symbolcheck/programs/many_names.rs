// SPDX-License-Identifier: Apache-2.0
// many_names.rs - Rust code whose names are of all kinds: generics, traits, closures, inlined iterators, methods of modules.
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};

mod shapes {
    pub trait Area {
        fn area(&self) -> f64;
        fn twice(&self) -> f64 {
            2.0 * self.area()
        }
    }
    pub struct Square(pub f64);
    pub struct Circle {
        pub radius: f64,
    }
    impl Area for Square {
        fn area(&self) -> f64 {
            self.0 * self.0
        }
    }
    impl Area for Circle {
        fn area(&self) -> f64 {
            std::f64::consts::PI * self.radius * self.radius
        }
        fn twice(&self) -> f64 {
            self.area() + self.area()
        }
    }
}

struct Words<'a> {
    counts: BTreeMap<&'a str, usize>,
}

impl<'a> Words<'a> {
    fn of(text: &'a str) -> Self {
        let mut counts = BTreeMap::new();
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
            *counts.entry(word).or_insert(0) += 1;
        }
        Words { counts }
    }
}

impl<'a> Display for Words<'a> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, count) in &self.counts {
            write!(out, "{word}:{count} ")?;
        }
        Ok(())
    }
}

fn largest<T: PartialOrd + Copy>(list: &[T]) -> Option<T> {
    let mut best = *list.first()?;
    for &each in list {
        if each > best {
            best = each;
        }
    }
    Some(best)
}

fn apply<F: Fn(u64) -> u64>(count: u64, function: F) -> u64 {
    (0..count).map(|i| function(i).rotate_left(3)).fold(7, |a, b| a ^ b)
}

fn main() {
    let all: Vec<Box<dyn shapes::Area>> = vec![Box::new(shapes::Square(2.0)), Box::new(shapes::Circle { radius: 1.5 })];
    let sum: f64 = all.iter().map(|s| s.area() + s.twice()).sum();
    let text = std::env::args().collect::<Vec<_>>().join(" ");
    let mut lengths: HashMap<usize, Vec<String>> = HashMap::new();
    for word in text.split_whitespace() {
        lengths.entry(word.len()).or_default().push(word.to_uppercase());
    }
    let mut keys: Vec<_> = lengths.keys().copied().collect();
    keys.sort_by(|a, b| b.cmp(a));
    println!("{sum} {} {:?} {:?} {}", Words::of(&text), largest(&keys), largest(&[1.5, 0.5]), apply(9, |i| i * i + 1));
}
