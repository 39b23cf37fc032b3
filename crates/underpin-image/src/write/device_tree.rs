//! Flattened device trees: read, changed, written again. A tree of Debian's describes the board; QEMU's board lacks parts of it
//! and stops where a driver waits for them.

/// One node with what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its name, with the address after `@`.
    pub name: String,
    /// Names and values, in their order.
    pub properties: Vec<(String, Vec<u8>)>,
    /// The nodes in it, in their order.
    pub nodes: Vec<Node>,
}

const MAGIC: u32 = 0xd00d_feed;
const BEGIN: u32 = 1;
const END: u32 = 2;
const PROPERTY: u32 = 3;
const NOTHING: u32 = 4;
const LAST: u32 = 9;
/// Deeper ones are not made by anybody.
const DEEPEST: usize = 64;

impl Node {
    /// The root of a tree.
    ///
    /// # Errors
    /// What is not as the format says, in words.
    pub fn read(bytes: &[u8]) -> Result<Node, &'static str> {
        if number(bytes, 0)? != MAGIC {
            return Err("it does not begin as a device tree does");
        }
        let structure = bytes.get(number(bytes, 8)? as usize..).ok_or("its structure is cut off")?;
        let names = bytes.get(number(bytes, 12)? as usize..).ok_or("its names are cut off")?;
        let mut reader = Reader { structure, names, at: 0 };
        if reader.word()? != BEGIN {
            return Err("it has no root");
        }
        reader.node(0)
    }

    /// The node of a path such as `soc/serial@7e201000`; the empty path is this one.
    pub fn at(&mut self, path: &str) -> Option<&mut Node> {
        path.split('/')
            .filter(|part| !part.is_empty())
            .try_fold(self, |node, part| node.nodes.iter_mut().find(|inner| inner.name == part))
    }

    /// Sets a property that is a text.
    pub fn set(&mut self, name: &str, text: &str) {
        let value = [text.as_bytes(), b"\0"].concat();
        match self.properties.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.properties.push((name.to_owned(), value)),
        }
    }

    /// Removes a property or a node of this name.
    pub fn remove(&mut self, name: &str) {
        self.properties.retain(|(known, _)| known != name);
        self.nodes.retain(|node| node.name != name);
    }

    /// The tree as bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let (mut structure, mut names) = (Vec::new(), Vec::new());
        self.put(&mut structure, &mut names);
        structure.extend(LAST.to_be_bytes());
        // The header, a list of reserved memory that is empty, the structure, the names.
        let at = 40 + 16;
        let total = at + structure.len() + names.len();
        let header = [MAGIC, total as u32, at as u32, (at + structure.len()) as u32, 40, 17, 16, 0];
        let mut bytes: Vec<u8> = header.iter().flat_map(|number| number.to_be_bytes()).collect();
        bytes.extend((names.len() as u32).to_be_bytes());
        bytes.extend((structure.len() as u32).to_be_bytes());
        bytes.extend([0; 16]);
        bytes.extend(structure);
        bytes.extend(names);
        bytes
    }

    fn put(&self, structure: &mut Vec<u8>, names: &mut Vec<u8>) {
        let pad = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(4), 0);
        structure.extend(BEGIN.to_be_bytes());
        structure.extend(self.name.as_bytes());
        structure.push(0);
        pad(structure);
        for (name, value) in &self.properties {
            let text = [name.as_bytes(), b"\0"].concat();
            // A whole name: the byte before it ends another one.
            let found = memchr::memmem::find_iter(names, &text).find(|at| *at == 0 || names[at - 1] == 0);
            let at = found.unwrap_or_else(|| {
                names.extend(&text);
                names.len() - text.len()
            });
            for number in [PROPERTY, value.len() as u32, at as u32] {
                structure.extend(number.to_be_bytes());
            }
            structure.extend(value);
            pad(structure);
        }
        self.nodes.iter().for_each(|node| node.put(structure, names));
        structure.extend(END.to_be_bytes());
    }
}

struct Reader<'a> {
    structure: &'a [u8],
    names: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn word(&mut self) -> Result<u32, &'static str> {
        let word = number(self.structure, self.at)?;
        self.at += 4;
        Ok(word)
    }

    /// What follows the word that a node begins with.
    fn node(&mut self, depth: usize) -> Result<Node, &'static str> {
        if depth > DEEPEST {
            return Err("its nodes are too deep in each other");
        }
        let name = text(self.structure.get(self.at..).unwrap_or_default())?;
        self.at = (self.at + name.len() + 1).next_multiple_of(4);
        let mut node = Node { name, ..Node::default() };
        loop {
            match self.word()? {
                BEGIN => node.nodes.push(self.node(depth + 1)?),
                END => return Ok(node),
                NOTHING => {}
                PROPERTY => {
                    let (size, name) = (self.word()? as usize, self.word()? as usize);
                    let name = text(self.names.get(name..).ok_or("a name is outside its names")?)?;
                    let value = self.structure.get(self.at..).and_then(|rest| rest.get(..size));
                    node.properties.push((name, value.ok_or("a value is cut off")?.to_vec()));
                    self.at = (self.at + size).next_multiple_of(4);
                }
                _ => return Err("its structure has an unknown word"),
            }
        }
    }
}

fn number(bytes: &[u8], at: usize) -> Result<u32, &'static str> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk());
    word.map(|word| u32::from_be_bytes(*word)).ok_or("it is cut off")
}

fn text(bytes: &[u8]) -> Result<String, &'static str> {
    let end = memchr::memchr(0, bytes).ok_or("a name has no end")?;
    String::from_utf8(bytes[..end].to_vec()).map_err(|_| "a name is not UTF-8")
}

/// What QEMU's raspi4b can start of the tree of a Raspberry Pi 4.
///
/// # Errors
/// If it is not such a tree: with what is missing.
pub fn for_emulator(bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut root = Node::read(bytes)?;
    let soc = root.at("soc").ok_or("it has no node soc")?;
    // Drivers of these stop the boot: QEMU has no such parts, and no firmware that sets them up.
    let absent = ["@7ef", "dvp", "hdmi", "vec", "hvs", "pixelvalve", "txp", "csi", "dsi", "avs", "rng@"];
    for node in soc.nodes.iter_mut().filter(|node| absent.iter().any(|part| node.name.contains(part))) {
        node.set("status", "disabled");
    }
    // The console is the first UART, which on the board belongs to Bluetooth; the other one never interrupts.
    soc.at("serial@7e201000").ok_or("it has no serial@7e201000")?.remove("bluetooth");
    // The card is at the controller that on the board is wireless network's.
    for (name, status) in [("serial@7e215040", "disabled"), ("mmc@7e202000", "disabled")] {
        if let Some(node) = soc.at(name) {
            node.set("status", status);
        }
    }
    let card = soc.at("mmc@7e300000").ok_or("it has no mmc@7e300000")?;
    ["mmc-pwrseq", "non-removable", "wifi@1"].iter().for_each(|name| card.remove(name));
    card.properties.push(("broken-cd".to_owned(), Vec::new()));
    if let Some(node) = root.at("emmc2bus/mmc@7e340000") {
        ["vqmmc-supply", "vmmc-supply"].iter().for_each(|name| node.remove(name));
    }
    root.at("chosen").ok_or("it has no node chosen")?.set("stdout-path", "serial0:115200n8");
    Ok(root.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_that_was_written_is_read_again() {
        let mut root = Node::default();
        root.set("model", "a board");
        root.properties.push(("flag".to_owned(), Vec::new()));
        let mut soc = Node { name: "soc".to_owned(), ..Node::default() };
        soc.set("odel", "its name is the end of another one");
        root.nodes.push(soc);
        let bytes = root.bytes();
        assert_eq!(Node::read(&bytes), Ok(root.clone()));
        assert!(root.at("soc").is_some() && root.at("soc/x").is_none());
        for end in 0..bytes.len() {
            let _ = Node::read(&bytes[..end]);
        }
        assert!(Node::read(&[0; 64]).is_err() && for_emulator(&bytes).is_err());
    }
}
