//! Types of variables, and the codes of scalar values.
//!
//! A scalar value is a 64-bit code. Integers and booleans are their own codes. Each enumeration
//! and each scalarset owns an interval of codes of its own, given by the front end, so that a union
//! is the union of its members' intervals and a value keeps its code when it moves between a member
//! and the union. Codes of different kinds never meet in one comparison: front ends see to that.

/// Number of a type in [`crate::Program::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u32);

/// A type of values that can be stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A finite set of codes.
    Scalar(ScalarType),
    /// Binary floating point, rounded to `digits` significant decimal digits when stored.
    Real {
        /// Significant decimal digits kept.
        digits: u32,
        /// Largest absolute decimal exponent.
        exponent: u32,
    },
    /// Named components.
    Record {
        /// Name for messages, if the model gives one.
        name: Option<String>,
        /// The components in order.
        fields: Vec<Field>,
    },
    /// One element per value of the (scalar) index type.
    Array {
        /// Index type: scalar.
        index: TypeId,
        /// Element type.
        elem: TypeId,
    },
    /// An unordered collection of at most `capacity` elements.
    Multiset {
        /// Largest number of elements.
        capacity: u32,
        /// Element type.
        elem: TypeId,
    },
}

/// A component of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: TypeId,
}

/// A finite set of codes.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarType {
    /// Name for messages, if the model gives one.
    pub name: Option<String>,
    /// What kind of values, for printing and for symmetry.
    pub kind: ScalarKind,
    /// The codes, as disjoint inclusive intervals in ordinal order; never empty.
    pub intervals: Vec<(i64, i64)>,
    /// Whether a variable of this type can be undefined.
    pub undefinable: bool,
}

/// What the codes of a scalar type mean.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarKind {
    /// 0 is false, 1 is true.
    Bool,
    /// Integers.
    Int,
    /// Named values; `names[i]` is the code `intervals[0].0 + i`.
    Enum {
        /// The names.
        names: Vec<String>,
    },
    /// Interchangeable values; value i is printed `stem_i`, counted from one.
    Scalarset {
        /// Printed before the number of a value.
        stem: String,
    },
    /// Values of several enumerations and scalarsets, in order, one interval each.
    Union {
        /// The members; scalar types that are not unions.
        members: Vec<TypeId>,
    },
}

impl ScalarType {
    /// Number of defined values.
    pub fn count(&self) -> u64 {
        let sizes = self.intervals.iter().map(|(lo, hi)| hi.abs_diff(*lo).saturating_add(1));
        sizes.fold(0, u64::saturating_add)
    }

    /// Whether `code` is one of the values.
    pub fn contains(&self, code: i64) -> bool {
        self.intervals.iter().any(|(lo, hi)| (*lo..=*hi).contains(&code))
    }

    /// Position of `code` among the values, from zero.
    pub fn ordinal(&self, code: i64) -> Option<u64> {
        let mut before = 0;
        for (lo, hi) in &self.intervals {
            if (*lo..=*hi).contains(&code) {
                return Some(before + code.abs_diff(*lo));
            }
            before += hi.abs_diff(*lo) + 1;
        }
        None
    }

    /// The code at a position.
    pub fn code(&self, ordinal: u64) -> Option<i64> {
        let mut left = ordinal;
        for (lo, hi) in &self.intervals {
            let size = hi.abs_diff(*lo) + 1;
            if left < size {
                return Some(lo + left as i64);
            }
            left -= size;
        }
        None
    }

    /// Bits of a stored value: room for all values and, if it can be undefined, one more.
    pub fn bits(&self) -> u32 {
        let patterns = u128::from(self.count()) + u128::from(self.undefinable);
        patterns.next_power_of_two().trailing_zeros()
    }

    /// Stored form of a defined value: its ordinal, plus one if zero means undefined.
    pub fn encode(&self, code: i64) -> Option<u64> {
        self.ordinal(code).map(|ordinal| ordinal + u64::from(self.undefinable))
    }

    /// Value of a stored form; `None` if undefined.
    pub fn decode(&self, raw: u64) -> Option<i64> {
        raw.checked_sub(u64::from(self.undefinable)).and_then(|ordinal| self.code(ordinal))
    }
}
