//! The words of a shell command, as far as they can be read without running it.

/// A word: its text without quotes, and whether it stands for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether the shell would leave it as it is: no variable, no substitution, no glob.
    pub(super) is_plain: bool,
}

impl Word {
    /// The text, if it stands for itself.
    pub(super) fn plain(&self) -> Option<&str> {
        Some(self.text.as_str()).filter(|_| self.is_plain)
    }
}

/// A piece of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A word.
    Word(Word),
    /// A redirection of output; the next word is the file.
    Output,
    /// A redirection of input; the next word is the file.
    Input,
    /// A text that is given on standard input.
    Text(String),
    /// The end of a simple command.
    End,
    /// The beginning of a subshell.
    Open,
    /// The end of a subshell.
    Close,
}

/// Cuts a command line into pieces. None if it cannot be read, such as an open quote.
pub(super) fn pieces(command: &str) -> Option<Vec<Piece>> {
    let mut reader =
        Reader { chars: command.chars().collect(), at: 0, pieces: Vec::new(), texts: Vec::new() };
    reader.read()?;
    Some(reader.pieces)
}

/// A here-document whose text is still to come.
struct Waiting {
    /// The word it ends with.
    end: String,
    /// Whether leading tabs are taken away.
    is_indented: bool,
    /// Where its text goes.
    place: usize,
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    pieces: Vec<Piece>,
    texts: Vec<Waiting>,
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += usize::from(is_there);
        is_there
    }

    fn read(&mut self) -> Option<()> {
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\r' => self.at += 1,
                '\n' => {
                    self.at += 1;
                    self.pieces.push(Piece::End);
                    self.read_texts();
                }
                '#' => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                ';' | '|' => {
                    self.at += 1;
                    // `|&` and `;;` are ends as well.
                    let _ = self.takes('&') || self.takes('|') || self.takes(';');
                    self.pieces.push(Piece::End);
                }
                '&' => self.ampersand(),
                '(' => self.mark(Piece::Open),
                ')' => self.mark(Piece::Close),
                '>' => self.output(),
                '<' => self.input()?,
                _ => self.word()?,
            }
        }
        Some(())
    }

    fn mark(&mut self, piece: Piece) {
        self.at += 1;
        self.pieces.extend([Piece::End, piece]);
    }

    fn ampersand(&mut self) {
        self.at += 1;
        if self.peek() == Some('>') {
            return self.output();
        }
        let _ = self.takes('&');
        self.pieces.push(Piece::End);
    }

    /// `>`, `>>`, `>|` and `>&`. A copy of another descriptor is no file.
    fn output(&mut self) {
        self.at += 1;
        let _ = self.takes('>') || self.takes('|');
        if self.takes('&') {
            let is_number = |c: char| c.is_ascii_digit() || c == '-';
            if self.peek().is_some_and(is_number) {
                while self.peek().is_some_and(is_number) {
                    self.at += 1;
                }
                return;
            }
        }
        // `>(…)` is a process, and its parentheses are read as such.
        if self.peek() != Some('(') {
            self.pieces.push(Piece::Output);
        }
    }

    /// `<`, `<<END`, `<<-END` and `<<<`.
    fn input(&mut self) -> Option<()> {
        self.at += 1;
        if !self.takes('<') {
            if self.takes('&') || self.peek() == Some('(') {
                return Some(());
            }
            let _ = self.takes('>');
            self.pieces.push(Piece::Input);
            return Some(());
        }
        if self.takes('<') {
            self.pieces.push(Piece::Input);
            return Some(());
        }
        let is_indented = self.takes('-');
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
        self.word()?;
        let Some(Piece::Word(end)) = self.pieces.pop() else { return None };
        self.texts.push(Waiting { end: end.text, is_indented, place: self.pieces.len() });
        self.pieces.push(Piece::Text(String::new()));
        Some(())
    }

    /// The texts of the here-documents of the line that ended.
    fn read_texts(&mut self) {
        for waiting in std::mem::take(&mut self.texts) {
            let mut text = String::new();
            while self.at < self.chars.len() {
                let line = self.line();
                let own = if waiting.is_indented { line.trim_start_matches('\t') } else { &line };
                if own == waiting.end {
                    break;
                }
                text.push_str(own);
                text.push('\n');
            }
            if let Some(Piece::Text(place)) = self.pieces.get_mut(waiting.place) {
                *place = text;
            }
        }
    }

    fn line(&mut self) -> String {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
        let line: String = rest[..length].iter().collect();
        self.at += length + 1;
        line.trim_end_matches('\r').to_owned()
    }

    fn word(&mut self) -> Option<()> {
        let mut word = Word { text: String::new(), is_plain: true };
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | '(' | ')' | '<' | '>' => break,
                '\'' => {
                    self.at += 1;
                    self.until('\'', &mut word)?;
                }
                '"' => {
                    self.at += 1;
                    self.double_quoted(&mut word)?;
                }
                '\\' => {
                    self.at += 1;
                    // A line that goes on in the next.
                    if let Some(c) = self.next().filter(|c| *c != '\n') {
                        word.text.push(c);
                    }
                }
                '$' | '`' => self.substitution(&mut word)?,
                _ => {
                    let is_first = word.text.is_empty();
                    word.is_plain &= !(matches!(c, '*' | '?' | '[' | '{') || c == '~' && is_first);
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        // A number before a redirection is a descriptor.
        let is_number = !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit());
        if !(is_number && matches!(self.peek(), Some('>' | '<'))) {
            self.pieces.push(Piece::Word(word));
        }
        Some(())
    }

    fn until(&mut self, end: char, word: &mut Word) -> Option<()> {
        loop {
            match self.next()? {
                c if c == end => return Some(()),
                c => word.text.push(c),
            }
        }
    }

    fn double_quoted(&mut self, word: &mut Word) -> Option<()> {
        loop {
            match self.peek()? {
                '"' => {
                    self.at += 1;
                    return Some(());
                }
                '\\' => {
                    self.at += 1;
                    match self.next()? {
                        c @ ('"' | '\\' | '$' | '`') => word.text.push(c),
                        '\n' => {}
                        c => word.text.extend(['\\', c]),
                    }
                }
                '$' | '`' => self.substitution(word)?,
                c => {
                    self.at += 1;
                    word.text.push(c);
                }
            }
        }
    }

    /// A variable or a command in the place of a word, which nobody can know before it runs.
    fn substitution(&mut self, word: &mut Word) -> Option<()> {
        word.is_plain = false;
        match self.next() {
            Some('`') => while self.next()? != '`' {},
            _ if self.takes('(') => {
                let mut depth = 1;
                while depth > 0 {
                    match self.next()? {
                        '(' => depth += 1,
                        ')' => depth -= 1,
                        _ => {}
                    }
                }
            }
            _ => {
                let _ = self.takes('{');
            }
        }
        Some(())
    }
}
