//! The tokens of Murphi and their spelling.
//!
//! Keywords come in two kinds. A *reserved* word is never a name. A *soft* keyword is a keyword
//! in one of the two dialects only, so it is a keyword where the grammar wants one and a name
//! everywhere else: CMurphi does not know `cover`, and rumur does not know `choose`.

use ergodic_diag::{SourceId, Span};

/// A token: what it is and the bytes it covers.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Tok,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Token {
    pub(crate) fn span(self, source: SourceId) -> Span {
        Span::new(source, self.start, self.end)
    }
}

/// The kinds of token.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Tok {
    Eof,
    Ident,
    Int,
    Real,
    Str,
    /// A reserved word.
    Kw(Kw),
    /// A word that is a keyword in some places only.
    Soft(Soft),
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    Semi,
    Comma,
    Colon,
    Dot,
    DotDot,
    Assign,
    LongArrow,
    Question,
    Arrow,
    PipePipe,
    AmpAmp,
    Pipe,
    Caret,
    Amp,
    Bang,
    Tilde,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
}

impl Tok {
    /// The spelling, for tokens that have only one (up to case and Unicode variants).
    pub(crate) fn spelling(self) -> Option<&'static str> {
        Some(match self {
            Tok::Eof | Tok::Ident | Tok::Int | Tok::Real | Tok::Str => return None,
            Tok::Kw(word) => word.spelling(),
            Tok::Soft(word) => word.spelling(),
            Tok::LParen => "(",
            Tok::RParen => ")",
            Tok::LBracket => "[",
            Tok::RBracket => "]",
            Tok::LBrace => "{",
            Tok::RBrace => "}",
            Tok::Semi => ";",
            Tok::Comma => ",",
            Tok::Colon => ":",
            Tok::Dot => ".",
            Tok::DotDot => "..",
            Tok::Assign => ":=",
            Tok::LongArrow => "==>",
            Tok::Question => "?",
            Tok::Arrow => "->",
            Tok::PipePipe => "||",
            Tok::AmpAmp => "&&",
            Tok::Pipe => "|",
            Tok::Caret => "^",
            Tok::Amp => "&",
            Tok::Bang => "!",
            Tok::Tilde => "~",
            Tok::Eq => "=",
            Tok::Ne => "!=",
            Tok::Lt => "<",
            Tok::Le => "<=",
            Tok::Gt => ">",
            Tok::Ge => ">=",
            Tok::Shl => "<<",
            Tok::Shr => ">>",
            Tok::Plus => "+",
            Tok::Minus => "-",
            Tok::Star => "*",
            Tok::Slash => "/",
            Tok::Percent => "%",
        })
    }

    /// Whether it can be used as a name.
    pub(crate) fn is_name(self) -> bool {
        matches!(self, Tok::Ident | Tok::Soft(_))
    }
}

/// Defines an enumeration of words with their (lower-case) spelling and the reverse look-up.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, Debug)]
        pub(crate) enum $name { $($variant,)* }

        impl $name {
            pub(crate) fn spelling(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            fn from_lower(word: &[u8]) -> Option<$name> {
                $(if word == $text.as_bytes() { return Some($name::$variant); })*
                None
            }

            #[cfg(test)]
            pub(crate) const ALL: &[$name] = &[$($name::$variant,)*];
        }
    };
}

words! {
    /// The reserved words.
    Kw {
        Alias "alias",
        Array "array",
        Assert "assert",
        Begin "begin",
        Boolean "boolean",
        By "by",
        Case "case",
        Clear "clear",
        Const "const",
        Do "do",
        Else "else",
        Elsif "elsif",
        End "end",
        EndAlias "endalias",
        EndChoose "endchoose",
        EndExists "endexists",
        EndFor "endfor",
        EndForall "endforall",
        EndFunction "endfunction",
        EndIf "endif",
        EndProcedure "endprocedure",
        EndRecord "endrecord",
        EndRule "endrule",
        EndRuleset "endruleset",
        EndStartstate "endstartstate",
        EndSwitch "endswitch",
        EndWhile "endwhile",
        Enum "enum",
        Error "error",
        Exists "exists",
        False "false",
        For "for",
        Forall "forall",
        Function "function",
        If "if",
        Invariant "invariant",
        IsUndefined "isundefined",
        Of "of",
        Procedure "procedure",
        Put "put",
        Record "record",
        Return "return",
        Rule "rule",
        Ruleset "ruleset",
        Scalarset "scalarset",
        Startstate "startstate",
        Switch "switch",
        Then "then",
        To "to",
        True "true",
        Type "type",
        Undefine "undefine",
        Undefined "undefined",
        Var "var",
        While "while",
    }
}

words! {
    /// The words that are keywords in some places only.
    Soft {
        Assume "assume",
        Choose "choose",
        Cover "cover",
        ExternFun "externfun",
        ExternProc "externproc",
        IsMember "ismember",
        Liveness "liveness",
        Multiset "multiset",
        MultisetAdd "multisetadd",
        MultisetCount "multisetcount",
        MultisetRemove "multisetremove",
        MultisetRemovePred "multisetremovepred",
        Pctl "pctl",
        Real "real",
        Union "union",
    }
}

impl Kw {
    /// Whether it closes a construct: `end` or one of its long forms.
    pub(crate) fn is_end(self) -> bool {
        self.spelling().starts_with("end")
    }
}

/// The token for a word: keywords in any case of letters, otherwise an identifier.
pub(crate) fn word(text: &str) -> Tok {
    const LONGEST: usize = 18;
    let mut buffer = [0u8; LONGEST];
    let Some(lower) = buffer.get_mut(..text.len()) else {
        return Tok::Ident;
    };
    lower.copy_from_slice(text.as_bytes());
    lower.make_ascii_lowercase();
    if let Some(word) = Kw::from_lower(lower) {
        return Tok::Kw(word);
    }
    Soft::from_lower(lower).map_or(Tok::Ident, Tok::Soft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_keyword_is_found_in_any_case() {
        for &kw in Kw::ALL {
            assert_eq!(word(kw.spelling()), Tok::Kw(kw));
            assert_eq!(word(&kw.spelling().to_uppercase()), Tok::Kw(kw));
        }
        for &soft in Soft::ALL {
            assert_eq!(word(soft.spelling()), Tok::Soft(soft));
        }
        assert_eq!(word("Rules"), Tok::Ident);
        assert_eq!(word("multisetremovepredicate"), Tok::Ident);
    }
}
